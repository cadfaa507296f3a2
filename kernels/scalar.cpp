// The kernels for any processor; compiled without instruction-set flags.
#define ROLLCALL_ISA scalar
#include "kernels/kernel_set.simd.hpp"
