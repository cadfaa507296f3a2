// Operands of kernel tests in device memory, emulated or real.
#pragma once

#include "operands.hpp"

#include "kernels/cuda/device_kernels.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace rollcall::kernels {

/// Device memory with a copy of host values, or `count` of them that nobody has written.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(std::int64_t count) : count_(count) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, std::size_t(std::max<std::int64_t>(count, 1)) * sizeof(T)) !=
        cudaSuccess)
      throw std::runtime_error("no device memory");
    memory_ = static_cast<T*>(memory);
  }
  OnDevice(const T* values, std::int64_t count) : OnDevice(count) { write(values); }
  explicit OnDevice(const std::vector<T>& values)
      : OnDevice(values.data(), std::int64_t(values.size())) {}
  ~OnDevice() { cudaFree(memory_); }
  OnDevice(OnDevice&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), count_(other.count_) {}
  OnDevice& operator=(OnDevice&&) = delete;

  operator T*() const { return memory_; }
  std::int64_t count() const { return count_; }
  void write(const T* values) { copy(memory_, values, cudaMemcpyHostToDevice); }
  void read(T* values) const { copy(values, memory_, cudaMemcpyDeviceToHost); }
  std::vector<T> values() const {
    std::vector<T> all(static_cast<std::size_t>(count_));
    read(all.data());
    return all;
  }

 private:
  void copy(void* to, const void* from, cudaMemcpyKind kind) const {
    if (cudaMemcpy(to, from, std::size_t(count_) * sizeof(T), kind) != cudaSuccess)
      throw std::runtime_error("a copy to or from the device failed");
  }
  T* memory_ = nullptr;
  std::int64_t count_;
};

/// The tiles of some sequences, on the device.
struct TilesOnDevice {
  OnDevice<cuda::AttentionSequence> sequences;
  cuda::AttentionTileTable table;
  OnDevice<cuda::AttentionTiles::Tile> tiles;
  OnDevice<std::int32_t> children;
  explicit TilesOnDevice(const std::vector<cuda::AttentionSequence>& all)
      : sequences(all),
        table(cuda::attention_tiles(all)),
        tiles(table.tiles),
        children(table.children) {}
  operator cuda::AttentionTiles() const { return {sequences, tiles, tiles.count(), children}; }
};

/// Backward of one sequence whose last `queries` positions have gradients, as the host's kernels
/// have it: what comes before is a sequence that it continues.
inline void attention_backward(ExecutionContext& context, const float* q, const float* k,
                               const float* v, const float* dout, std::int64_t queries,
                               std::int64_t keys, HeadShape shape, float* dq, float* dk,
                               float* dv) {
  const std::int64_t before = keys - queries, wide = shape.q_heads * shape.head_dim;
  const TilesOnDevice tiles({{-1, 0, 0, before}, {0, before, before, queries}});
  const Floats zeros(std::size_t(keys * wide));
  const OnDevice<float> all_q(zeros), all_dout(zeros), all_dq(keys * wide);
  const auto copy = [&](float* to, const float* from) {
    cudaMemcpy(to, from, std::size_t(queries * wide) * sizeof(float), cudaMemcpyDeviceToDevice);
  };
  copy(all_q + before * wide, q), copy(all_dout + before * wide, dout);
  cuda::attention_backward(context, all_q, k, v, all_dout, keys, shape, tiles, all_dq, dk, dv);
  cudaDeviceSynchronize();
  copy(dq, all_dq + before * wide);
}

/// The device behind the host's table: each call carries its operands over and back. Entries are
/// those whose contract the device keeps in fp32.
const KernelSet& device_set();

}  // namespace rollcall::kernels
