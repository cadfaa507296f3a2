// Uninitialised floats that start on a cache line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace rollcall::model {

/// Owns `count` floats at a 64-byte boundary. LibTorch's matrix products round alike only at equal alignment, so weights live in these.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(std::size_t count) : count_(count) {
    const std::size_t bytes = (count * sizeof(float) + 63) / 64 * 64;
    data_.reset(static_cast<float*>(std::aligned_alloc(64, bytes == 0 ? 64 : bytes)));
    if (data_ == nullptr) throw std::bad_alloc();
  }
  explicit AlignedFloats(std::span<const float> values) : AlignedFloats(values.size()) { std::copy(values.begin(), values.end(), data_.get()); }
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::size_t size() const { return count_; }
  std::span<float> span() { return {data_.get(), count_}; }
  std::span<const float> span() const { return {data_.get(), count_}; }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float[], Free> data_;
  std::size_t count_ = 0;
};

}  // namespace rollcall::model
