// The kernels of modules for any processor; compiled without instruction-set flags.
#define ROLLCALL_ISA scalar_modules
#define ROLLCALL_SET scalar
#define ROLLCALL_FP32_MODULES
#include "kernels/module_kernels.simd.hpp"
