// Small kernels, right and wrong, that the emulation is tested with.
#pragma once

#include <cuda_runtime.h>

namespace samples {

enum class Fault {
  none,
  no_barrier,
  no_barrier_before_reuse,
  no_warp_barrier,
  divergent,
  out_of_bounds,
  host_memory,
  same_word,
  plain_beside_atomic,
  early_read
};

/// A block of 64 threads turns `values` [64] round through shared memory, twice, and counts itself
/// in `counter`.
void turn_round(cudaStream_t stream, Fault fault, float* values, int* counter);
/// values[i] = 2 values[i] + i of `count` threads.
void step(cudaStream_t stream, float* values, int count);
/// order[n] = the n-th thread that ran.
void note_order(cudaStream_t stream, int* order, int* counter);
/// One that does nothing, and that no other test launches.
cudaError_t idle(cudaStream_t stream);

}  // namespace samples
