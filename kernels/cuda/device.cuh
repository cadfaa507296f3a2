// What the CUDA kernels share: launches with an error check, stream-ordered scratch memory, and
// folds over the 32 lanes of a warp.
#pragma once

#include "kernels/cuda/device_kernels.hpp"
#include "kernels/cuda/device_language.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace rollcall::kernels::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kBlock = 256;

/// Throws std::runtime_error with the name of the call when it failed.
void check(cudaError_t status, const char* call);
/// Throws std::runtime_error when a call that takes device memory failed. If the device has no
/// room, the error says `what` the memory was for.
void check_taken(cudaError_t status, std::size_t bytes, const char* what);

int attribute(cudaDeviceAttr which);  ///< an attribute of the current device

inline cudaStream_t stream_of(const ExecutionContext& context) {
  return static_cast<cudaStream_t>(context.stream);
}

/// The grid and block of a launch, and its bytes of dynamic shared memory.
struct Shape {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
};

/// Launches kernel(arguments...) after all work in the stream. All launches go through here.
template <class... Parameters, class... Arguments>
void launch(const ExecutionContext& context, const char* name, void (*kernel)(Parameters...),
            const Shape& shape, Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid, config.blockDim = shape.block,
  config.dynamicSmemBytes = shape.shared_bytes, config.stream = stream_of(context);
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), name);
}

/// Launches kernel(count, arguments...) with one thread for each of `count` elements. With 0
/// elements it does nothing.
template <class... Parameters, class... Arguments>
void launch_each(const ExecutionContext& context, const char* name,
                 void (*kernel)(std::int64_t, Parameters...), std::int64_t count,
                 Arguments... arguments) {
  if (count > 0)
    launch(context, name, kernel, {static_cast<unsigned>((count + kBlock - 1) / kBlock), kBlock},
           count, arguments...);
}

/// Launches kernel(arguments...) with a block of `threads` for each of `rows` rows. The row is
/// blockIdx.x.
template <class... Parameters, class... Arguments>
void launch_rows(const ExecutionContext& context, const char* name, void (*kernel)(Parameters...),
                 std::int64_t rows, int threads, Arguments... arguments) {
  if (rows > 0)
    launch(context, name, kernel, {static_cast<unsigned>(rows), static_cast<unsigned>(threads)},
           arguments...);
}

/// Device memory that lives until all work queued by then has used it. With a count of 0 it is
/// null.
template <class T>
class Scratch {
 public:
  Scratch(const ExecutionContext& context, std::int64_t count) : stream_(stream_of(context)) {
    if (count <= 0) return;
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    check_taken(cudaMallocAsync(&memory_, bytes, stream_), bytes, "scratch of kernels");
  }
  ~Scratch() {
    if (memory_ != nullptr) cudaFreeAsync(memory_, stream_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* get() const { return static_cast<T*>(memory_); }

 private:
  void* memory_ = nullptr;
  cudaStream_t stream_;
};

__device__ inline std::int64_t element() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// x rounded to an integer with ties to even, or 0 if x exceeds 2^52 or is a NaN
/// (parameter_kernels.hpp).
__device__ inline std::int64_t nearest_integer(double x) {
  return fabs(x) <= 4503599627370496.0 ? static_cast<std::int64_t>(rint(x)) : 0;
}
__device__ inline void add_atomically(std::int64_t* sum, std::int64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(value));
}

/// The bits of |value|, where a NaN counts as infinity. Without a sign they sort like the values.
__device__ inline unsigned size_of(float value) {
  const unsigned size = __float_as_uint(value) & 0x7FFFFFFFU;
  return size > 0x7F800000U ? 0x7F800000U : size;
}
/// Raises *largest to the largest size in the warp's lanes.
__device__ inline void note_largest(unsigned size, unsigned* largest) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const unsigned other = __shfl_xor_sync(0xFFFFFFFFU, size, distance);
    size = other > size ? other : size;
  }
  if (threadIdx.x % kWarp == 0) atomicMax(largest, size);
}

/// warp_sum() and warp_max() fold over the warp's lanes as butterflies, so that every lane gets the
/// same bits.
__device__ inline float warp_sum(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xFFFFFFFFU, value, distance);
  return value;
}
__device__ inline float warp_max(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const float other = __shfl_xor_sync(0xFFFFFFFFU, value, distance);
    value = value > other ? value : other;
  }
  return value;
}

/// Folds over the block's threads, which all get the same bits: first by butterflies within warps,
/// then over warps in ascending order.
template <class Fold>
__device__ float block_fold(float value, float* of_warps, const Fold& fold) {
  value = fold.warp(value);
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = value;
  __syncthreads();
  float all = of_warps[0];
  for (unsigned w = 1; w < blockDim.x / kWarp; ++w) all = fold.both(all, of_warps[w]);
  return all;
}
struct Largest {
  __device__ float warp(float x) const { return warp_max(x); }
  __device__ float both(float a, float b) const { return fmaxf(a, b); }
};
struct Total {
  __device__ float warp(float x) const { return warp_sum(x); }
  __device__ float both(float a, float b) const { return a + b; }
};

}  // namespace rollcall::kernels::cuda
