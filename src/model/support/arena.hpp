// Private to the model: scratch memory that is taken piece by piece and given back in one.
#pragma once

#include "base/error.hpp"
#include "model/support/aligned_floats.hpp"

#include <cstdint>

namespace rollcall::model {

/// Floats from a block whose size is known beforehand; every piece begins on a cache line.
class Arena {
 public:
  static constexpr std::int64_t padded(std::int64_t floats) { return (floats + 15) / 16 * 16; }

  Arena() = default;
  explicit Arena(std::int64_t floats) : memory_(std::size_t(floats)) {}
  std::int64_t size() const { return std::int64_t(memory_.size()); }
  float* take(std::int64_t floats) {
    float* piece = memory_.data() + used_;
    used_ += padded(floats);
    expect(used_ <= size(), "an arena is as large as what is taken from it");
    return piece;
  }
  std::int64_t used() const { return used_; }
  /// What was taken since used() was this.
  void give_back(std::int64_t used) { used_ = used; }
  /// At least so large. Nothing may be taken.
  void grow(std::int64_t floats) {
    if (floats <= size()) return;
    memory_ = AlignedFloats();  // or both would be in memory
    memory_ = AlignedFloats(std::size_t(floats));
  }

 private:
  AlignedFloats memory_;
  std::int64_t used_ = 0;
};

}  // namespace rollcall::model
