// Small kernels, right and wrong, that the emulation is tested with.
#include "sample_kernels.hpp"

#include "kernels/cuda/device_language.cuh"

namespace samples {
namespace {

using namespace rollcall::kernels::cuda;

template <class... Parameters, class... Arguments>
void launch(cudaStream_t stream, unsigned threads, void (*kernel)(Parameters...),
            Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = 1, config.blockDim = threads, config.dynamicSmemBytes = 256,
  config.stream = stream;
  cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

__global__ void turn_kernel(Fault fault, float* values, int* counter, const float* host) {
  __shared__ float turned[64];
  const unsigned i = threadIdx.x;
  turned[63 - i] = values[i];
  if (fault != Fault::no_barrier) __syncthreads();
  float value = turned[i];
  if (fault != Fault::no_barrier_before_reuse) __syncthreads();
  turned[63 - i] = value;
  __syncthreads();
  value = turned[i];
  float* of_warp = shared_memory<float>();  // of each warp half of it; a warp turns its 32 round
                                            // and back
  const unsigned lane = i % 32, begin = i - lane;
  of_warp[begin + lane] = value;
  if (fault != Fault::no_warp_barrier) __syncwarp();
  value = of_warp[begin + 31 - lane];
  __syncwarp();
  if (fault == Fault::divergent && i < 32) __syncthreads();
  if (fault == Fault::out_of_bounds && i == 63) value += values[i + 1];
  if (fault == Fault::host_memory && i == 0) value += *host;
  if (fault == Fault::same_word) values[0] = 1.0F;
  if (fault == Fault::plain_beside_atomic && i == 5) *counter = 0;
  atomicAdd(counter, 1);
  if (i % 4 == 0) copy_async(of_warp + i, values + i, true);
  commit_copies();
  if (fault != Fault::early_read) wait_for_copies<0>();
  __syncwarp();
  const float copied = of_warp[i];
  wait_for_copies<0>();
  __syncthreads();
  values[i] = __shfl_xor_sync(~0U, value, 31) + (copied - copied);
}

__global__ void step_kernel(float* values, int count) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] = 2.0F * values[i] + float(i);
}

__global__ void order_kernel(int* order, int* counter) {
  order[atomicAdd(counter, 1)] = int(threadIdx.x);
}
__global__ void idle_kernel() {}

}  // namespace

void turn_round(cudaStream_t stream, Fault fault, float* values, int* counter) {
  static float* const host = new float(0.0F);
  launch(stream, 64, turn_kernel, fault, values, counter, host);
}
void step(cudaStream_t stream, float* values, int count) {
  launch(stream, 32, step_kernel, values, count);
}
void note_order(cudaStream_t stream, int* order, int* counter) {
  launch(stream, 64, order_kernel, order, counter);
}
cudaError_t idle(cudaStream_t stream) {
  launch(stream, 32, idle_kernel);
  return cudaGetLastError();
}

}  // namespace samples
