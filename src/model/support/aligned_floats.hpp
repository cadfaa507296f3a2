// Arrays of uninitialised numbers. They begin on a cache line, and large ones on a huge page.
#pragma once

#include "model/support/huge_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace rollcall::model {

/// Owns `count` numbers that begin at a multiple of 64 bytes.
template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t count) : count_(count) {
    const std::size_t bytes = count * sizeof(T),
                      alignment = kKeepsBlocks && bytes >= kHugePage ? kHugePage : kCacheLine;
    const std::size_t whole =
        std::max<std::size_t>((bytes + alignment - 1) / alignment, 1) * alignment;
    if (alignment == kHugePage) {
      data_ = {reinterpret_cast<T*>(huge_blocks().take(whole)), Free{nullptr, whole}};
      return;
    }
    data_.reset(static_cast<T*>(std::aligned_alloc(alignment, whole)));
    if (data_ == nullptr) throw std::bad_alloc();
  }
  /// An array in memory that `owner` keeps alive.
  AlignedArray(std::span<T> memory, std::shared_ptr<const void> owner)
      : data_(memory.data(), Free{std::move(owner)}), count_(memory.size()) {}
  explicit AlignedArray(std::span<const T> values) : AlignedArray(values.size()) {
    std::copy(values.begin(), values.end(), data_.get());
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return count_; }
  std::span<T> span() { return {data_.get(), count_}; }
  std::span<const T> span() const { return {data_.get(), count_}; }
  operator std::span<const T>() const { return span(); }
  friend bool operator==(const AlignedArray& a, std::span<const T> b) {
    return std::equal(b.begin(), b.end(), a.data(), a.data() + a.size());
  }

 private:
  static constexpr std::size_t kCacheLine = 64;
  struct Free {
    std::shared_ptr<const void> owner{};  ///< null if the array owns its memory
    std::size_t block = 0;                ///< bytes taken from huge_blocks(), or 0
    void operator()(T* p) const {
      if (owner != nullptr) return;
      block > 0 ? huge_blocks().give_back(reinterpret_cast<std::byte*>(p), block) : std::free(p);
    }
  };
  std::unique_ptr<T[], Free> data_;
  std::size_t count_ = 0;
};

using AlignedFloats = AlignedArray<float>;

}  // namespace rollcall::model
