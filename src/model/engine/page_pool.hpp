// Private to the model: pages of keys and values, with shared ownership.
#pragma once

#include "model/support/aligned_floats.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace rollcall::model {

/// Allocates memory that the engine of a session can read and write, `chunk` bytes at a time.
struct PageMemory {
  std::function<AlignedArray<std::byte>(std::size_t bytes)> make = [](std::size_t bytes) {
    return AlignedArray<std::byte>(bytes);
  };
  std::int64_t chunk = std::int64_t(8) << 20;  ///< whole huge pages on the host
};

/// Pages of one size. It never hands out more than `limit` pages at once. Not shared between
/// threads.
class PagePool {
 public:
  /// A page returns to its pool when its last owner releases it.
  using Page = std::shared_ptr<std::byte>;

  PagePool(std::int64_t page_bytes, std::int64_t limit, PageMemory memory = {})
      : bytes_(page_bytes), limit_(limit), source_(std::move(memory)) {}
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  std::int64_t page_bytes() const { return bytes_; }
  std::int64_t free() const { return limit_ - taken_; }
  std::int64_t taken() const { return taken_; }
  /// Takes a page with undefined contents. The caller makes sure that one is free.
  Page take();
  /// Raises the bound to `pages` if it is lower, because one sequence always has room.
  void admit(std::int64_t pages) { limit_ = std::max(limit_, pages); }

 private:
  std::int64_t bytes_, limit_, taken_ = 0, made_ = 0;
  PageMemory source_;
  std::vector<AlignedArray<std::byte>> memory_;  ///< chunks of several pages each
  std::vector<std::byte*> idle_;
};

}  // namespace rollcall::model
