// The few calls of cuBLASLt that a product takes, declared by its own header where the toolkit has
// it, and loaded by name.
#include "benchmarks/gpu_check/cublaslt.hpp"

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

namespace rollcall::gpu_check {
namespace {

template <class F>
F* find(const char* name) {
  static void* const library = [] {
    for (const char* file : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"})
      if (void* found = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return found;
    return static_cast<void*>(nullptr);
  }();
  return library == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(library, name));
}

constexpr std::size_t kWorkspace = std::size_t{32} << 20;

void* workspace() {
  static void* const memory = [] {
    void* taken = nullptr;
    return cudaMalloc(&taken, kWorkspace) == cudaSuccess ? taken : nullptr;
  }();
  return memory;
}

cublasLtHandle_t handle_of(decltype(cublasLtCreate)* create) {
  static const cublasLtHandle_t only = [create] {
    cublasLtHandle_t made = nullptr;
    return create(&made) == CUBLAS_STATUS_SUCCESS ? made : nullptr;
  }();
  return only;
}

}  // namespace

std::function<void()> cublaslt_product(const void* x, const void* w, float* y, std::int64_t n,
                                       std::int64_t o, std::int64_t k) {
  const auto create = find<decltype(cublasLtCreate)>("cublasLtCreate");
  const auto describe = find<decltype(cublasLtMatmulDescCreate)>("cublasLtMatmulDescCreate");
  const auto describe_set =
      find<decltype(cublasLtMatmulDescSetAttribute)>("cublasLtMatmulDescSetAttribute");
  const auto layout = find<decltype(cublasLtMatrixLayoutCreate)>("cublasLtMatrixLayoutCreate");
  const auto prefer =
      find<decltype(cublasLtMatmulPreferenceCreate)>("cublasLtMatmulPreferenceCreate");
  const auto prefer_set =
      find<decltype(cublasLtMatmulPreferenceSetAttribute)>("cublasLtMatmulPreferenceSetAttribute");
  const auto choose =
      find<decltype(cublasLtMatmulAlgoGetHeuristic)>("cublasLtMatmulAlgoGetHeuristic");
  const auto matmul = find<decltype(cublasLtMatmul)>("cublasLtMatmul");
  if (!create || !describe || !describe_set || !layout || !prefer || !prefer_set || !choose ||
      !matmul)
    return {};
  const cublasLtHandle_t handle = handle_of(create);
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  // Columns first: y^T [o,n] = w [o,k] x^T [k,n], where w lies as [k,o].
  const cublasOperation_t turned = CUBLAS_OP_T;
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const bool ready =
      handle != nullptr && workspace() != nullptr &&
      describe(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS &&
      describe_set(product, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned) ==
          CUBLAS_STATUS_SUCCESS &&
      layout(&a, CUDA_R_16BF, std::uint64_t(k), std::uint64_t(o), k) == CUBLAS_STATUS_SUCCESS &&
      layout(&b, CUDA_R_16BF, std::uint64_t(k), std::uint64_t(n), k) == CUBLAS_STATUS_SUCCESS &&
      layout(&c, CUDA_R_32F, std::uint64_t(o), std::uint64_t(n), o) == CUBLAS_STATUS_SUCCESS &&
      prefer(&preference) == CUBLAS_STATUS_SUCCESS &&
      prefer_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
                 sizeof kWorkspace) == CUBLAS_STATUS_SUCCESS &&
      choose(handle, product, a, b, c, c, preference, 1, &found, &count) == CUBLAS_STATUS_SUCCESS &&
      count == 1;
  if (!ready) return {};
  return [=] {
    const float one = 1.0F, zero = 0.0F;
    matmul(handle, product, &one, w, a, x, b, &zero, y, c, y, c, &found.algo, workspace(),
           kWorkspace, nullptr);
  };
}

}  // namespace rollcall::gpu_check
