// The kernels for AVX2 with FMA; compiled with those flags.
#define ROLLCALL_ISA avx2
#include "kernels/kernel_set.simd.hpp"
