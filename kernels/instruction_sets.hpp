// The tables that this build has compiled. select.cpp finds out which of them the processor can
// run.
#pragma once

#include "kernels/kernel_set.hpp"

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

}  // namespace rollcall::kernels
