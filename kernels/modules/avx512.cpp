// The kernels of modules for AVX-512 (F, DQ, BW, VL); compiled with those flags.
#define ROLLCALL_ISA avx512_modules
#define ROLLCALL_SET avx512
#define ROLLCALL_FP32_MODULES
#include "kernels/module_kernels.simd.hpp"
