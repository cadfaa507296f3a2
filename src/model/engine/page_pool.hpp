// Private to the model: pages of keys and values, each shared by all who hold it.
#pragma once

#include "model/support/aligned_floats.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace rollcall::model {

/// Where pages are made, such that who computes with them reaches them, and how many bytes at a
/// time.
struct PageMemory {
  std::function<AlignedArray<std::byte>(std::size_t bytes)> make = [](std::size_t bytes) {
    return AlignedArray<std::byte>(bytes);
  };
  std::int64_t chunk = std::int64_t(8) << 20;  ///< whole huge pages of the host
};

/// Pages of one size, at most so many at a time: a bound that is kept exactly. Not shared between
/// threads.
class PagePool {
 public:
  /// Goes back to its pool with its last holder.
  using Page = std::shared_ptr<std::byte>;

  PagePool(std::int64_t page_bytes, std::int64_t most, PageMemory memory = {})
      : bytes_(page_bytes), most_(most), source_(std::move(memory)) {}
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  std::int64_t page_bytes() const { return bytes_; }
  std::int64_t free() const { return most_ - taken_; }
  std::int64_t taken() const { return taken_; }
  /// What is in it is undefined. There must be a free one.
  Page take();
  /// Raises the bound: one sequence always has room.
  void admit(std::int64_t pages) { most_ = std::max(most_, pages); }

 private:
  std::int64_t bytes_, most_, taken_ = 0, made_ = 0;
  PageMemory source_;
  std::vector<AlignedArray<std::byte>> memory_;  ///< some pages each
  std::vector<std::byte*> idle_;
};

}  // namespace rollcall::model
