// The kernel table for one CUDA device. Built with ROLLCALL_ENABLE_CUDA only.
#pragma once

#include "kernels/kernel_set.hpp"

namespace rollcall::kernels {

/// Same contract as the host tables for the entries it has (draws and wide_columns are made on the host), with every pointer (the AttentionRow array and what it points to included) in memory that the device reaches,
/// and with packed weights as pack_fp32 writes them. Calls are queued on ExecutionContext::stream and return before they are done; temporary
/// memory is stream-ordered. A row's bits depend on that row alone, but they are not the bits of the host tables (32-lane sums, other exp and log).
/// Throws std::runtime_error when a launch fails.
const KernelSet& cuda_kernels();

}  // namespace rollcall::kernels
