// Private to the model: scratch memory that is taken piece by piece and given back all at once.
#pragma once

#include "base/errors/error.hpp"
#include "model/support/aligned_floats.hpp"

#include <cstdint>

namespace rollcall::model {

/// Hands out floats from one block whose size is known beforehand. Every piece begins on a cache
/// line.
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
  /// Gives back all pieces beyond the first `used` floats.
  void give_back(std::int64_t used) { used_ = used; }
  /// Gives back at its end what was taken since its beginning.
  class Scope {
   public:
    explicit Scope(Arena& arena) : arena_(&arena), used_(arena.used_) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { arena_->give_back(used_); }

   private:
    Arena* arena_;
    std::int64_t used_;
  };
  /// Makes the block hold at least `floats`. No piece may be in use.
  void grow(std::int64_t floats) {
    if (floats <= size()) return;
    memory_ = AlignedFloats();  // first, or the old and the new block would both be in memory
    memory_ = AlignedFloats(std::size_t(floats));
  }

 private:
  AlignedFloats memory_;
  std::int64_t used_ = 0;
};

}  // namespace rollcall::model
