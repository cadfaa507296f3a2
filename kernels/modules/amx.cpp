// The kernels of modules for AVX-512 with AMX's bfloat16 tiles; compiled with those flags.
#define ROLLCALL_ISA amx_modules
#define ROLLCALL_SET amx
#include "kernels/module_kernels.simd.hpp"
