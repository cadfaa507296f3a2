// The CUDA table and its error check.
#include "kernels/cuda_kernels.hpp"
#include "kernels/device.cuh"

#include <stdexcept>
#include <string>

namespace rollcall::kernels {

namespace cuda {

void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string(call) + " failed on the CUDA device (" + cudaGetErrorString(status) +
                             "); check that the device is free, of a supported architecture, and that operands lie in memory it reaches");
}

}  // namespace cuda

const KernelSet& cuda_kernels() {
  static const KernelSet table = [] {
    KernelSet set{};
    set.name = "cuda";
    cuda::add_linear_and_rows(set);
    cuda::add_attention(set);
    cuda::add_token_columns(set);
    return set;
  }();
  return table;
}

}  // namespace rollcall::kernels
