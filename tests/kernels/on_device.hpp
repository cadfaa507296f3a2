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
    if (cudaMalloc(&memory, std::size_t(std::max<std::int64_t>(count, 1)) * sizeof(T)) != cudaSuccess) throw std::runtime_error("no device memory");
    memory_ = static_cast<T*>(memory);
  }
  OnDevice(const T* values, std::int64_t count) : OnDevice(count) { write(values); }
  explicit OnDevice(const std::vector<T>& values) : OnDevice(values.data(), std::int64_t(values.size())) {}
  ~OnDevice() { cudaFree(memory_); }
  OnDevice(OnDevice&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)), count_(other.count_) {}
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
    if (cudaMemcpy(to, from, std::size_t(count_) * sizeof(T), kind) != cudaSuccess) throw std::runtime_error("a copy to or from the device failed");
  }
  T* memory_ = nullptr;
  std::int64_t count_;
};

/// The device behind the host's table: each call carries its operands over and back. Entries are those whose contract the device keeps in fp32.
const KernelSet& device_set();

}  // namespace rollcall::kernels
