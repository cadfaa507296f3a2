// The kernels for AVX-512 (F, DQ, BW, VL); compiled with those flags.
#define ROLLCALL_ISA avx512
#include "kernels/kernel_set.simd.hpp"
