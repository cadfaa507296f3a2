// The tables that this build has compiled. select.cpp finds out which of them the processor can
// run.
#pragma once

#include "kernels/kernel_set.hpp"
#include "kernels/module_kernels.hpp"

namespace rollcall::kernels {

namespace scalar {
extern const KernelSet table, bf16_table;
}
namespace avx2 {
extern const KernelSet table, bf16_table;
}
namespace avx512 {
extern const KernelSet table, bf16_table;
}
namespace avx512_bf16 {
extern const KernelSet bf16_table;
}
namespace amx {
extern const KernelSet bf16_table;
}

// The tables of modules, which are compiled apart from those above.
namespace scalar_modules {
extern const ModuleKernels table, bf16_table;
}
namespace avx2_modules {
extern const ModuleKernels table, bf16_table;
}
namespace avx512_modules {
extern const ModuleKernels table, bf16_table;
}
namespace avx512_bf16_modules {
extern const ModuleKernels bf16_table;
}
namespace amx_modules {
extern const ModuleKernels bf16_table;
}

}  // namespace rollcall::kernels
