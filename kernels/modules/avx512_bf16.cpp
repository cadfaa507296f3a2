// The kernels of modules for AVX-512 with its bfloat16 dot product; compiled with those flags.
#define ROLLCALL_ISA avx512_bf16_modules
#define ROLLCALL_SET avx512_bf16
#include "kernels/module_kernels.simd.hpp"
