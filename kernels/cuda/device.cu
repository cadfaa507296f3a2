// The error check of the CUDA kernels.
#include "kernels/cuda/device.cuh"

#include <stdexcept>
#include <string>

namespace rollcall::kernels::cuda {

void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string(call) + " failed on the CUDA device (" + cudaGetErrorString(status) +
                             "); check that the device is free, of a supported architecture, and that operands lie in memory it reaches");
}

}  // namespace rollcall::kernels::cuda
