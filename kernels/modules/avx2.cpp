// The kernels of modules for AVX2 with FMA; compiled with those flags.
#define ROLLCALL_ISA avx2_modules
#define ROLLCALL_SET avx2
#define ROLLCALL_FP32_MODULES
#include "kernels/module_kernels.simd.hpp"
