// The kernels for AVX-512 with its bfloat16 dot product; compiled with those flags. Only the table
// of bf16_sliced8 differs from avx512.cpp.
#define ROLLCALL_ISA avx512_bf16
#include "kernels/kernel_set.simd.hpp"
