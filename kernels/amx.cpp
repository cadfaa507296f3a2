// The kernels for AVX-512 with AMX's bfloat16 tiles; compiled with those flags. Only the table of
// bf16_sliced8 differs from avx512.cpp.
#define ROLLCALL_ISA amx
#include "kernels/kernel_set.simd.hpp"
