// cuBLASLt's product in bf16, found at run time: nothing here is needed to build, and nothing is
// missed where it is not.
#pragma once

#include <cstdint>
#include <functional>

namespace rollcall::gpu_check {

/// y[n,o] in fp32 = x[n,k] w[o,k]^T, on the default stream; empty where the library or a fitting
/// algorithm was not found. Operands as the kernels have them: rows of k elements, k a multiple of
/// 8.
std::function<void()> cublaslt_product(const void* x, const void* w, float* y, std::int64_t n,
                                       std::int64_t o, std::int64_t k);

}  // namespace rollcall::gpu_check
