// What the CUDA kernels share: launch with error check, stream-ordered scratch, folds over the 32 lanes of a warp.
#pragma once

#include "kernels/kernel_set.hpp"

#include <cuda_runtime.h>

#include <cstdint>

namespace rollcall::kernels::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kBlock = 256;

/// Throws std::runtime_error with the name of the call when it failed.
void check(cudaError_t status, const char* call);

inline cudaStream_t stream_of(const ExecutionContext& context) { return static_cast<cudaStream_t>(context.stream); }

/// One thread per element of `count`: kernel(count, arguments...). An empty launch is none.
template <class... Parameters, class... Arguments>
void launch_each(const ExecutionContext& context, const char* name, void (*kernel)(std::int64_t, Parameters...), std::int64_t count, Arguments... arguments) {
  if (count == 0) return;
  kernel<<<static_cast<unsigned>((count + kBlock - 1) / kBlock), kBlock, 0, stream_of(context)>>>(count, arguments...);
  check(cudaGetLastError(), name);
}

/// One warp per row of `rows`, `shared_floats` of shared memory each: kernel(arguments...), the row being blockIdx.x.
template <class... Parameters, class... Arguments>
void launch_rows(const ExecutionContext& context, const char* name, void (*kernel)(Parameters...), std::int64_t rows, std::int64_t shared_floats,
                 Arguments... arguments) {
  if (rows == 0) return;
  kernel<<<static_cast<unsigned>(rows), kWarp, static_cast<std::size_t>(shared_floats) * sizeof(float), stream_of(context)>>>(arguments...);
  check(cudaGetLastError(), name);
}

/// Device floats that live until the work queued so far has used them.
class Scratch {
 public:
  Scratch(const ExecutionContext& context, std::int64_t count) : stream_(stream_of(context)) {
    check(cudaMallocAsync(&memory_, static_cast<std::size_t>(count) * sizeof(float), stream_), "cudaMallocAsync");
  }
  ~Scratch() { cudaFreeAsync(memory_, stream_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  float* floats() const { return static_cast<float*>(memory_); }

 private:
  void* memory_ = nullptr;
  cudaStream_t stream_;
};

__device__ inline std::int64_t element() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

/// Butterfly folds: every lane gets the same bits.
__device__ inline float warp_sum(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(0xFFFFFFFFU, value, distance);
  return value;
}
__device__ inline float warp_max(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const float other = __shfl_xor_sync(0xFFFFFFFFU, value, distance);
    value = value > other ? value : other;
  }
  return value;
}

// Each source fills in its entries of the table.
void add_attention(KernelSet& set);
void add_linear_and_rows(KernelSet& set);
void add_token_columns(KernelSet& set);

}  // namespace rollcall::kernels::cuda
