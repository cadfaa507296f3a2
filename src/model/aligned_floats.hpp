// Uninitialised numbers that start on a cache line, large ones on huge pages.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace rollcall::model {

/// Owns `count` numbers at a 64-byte boundary.
template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t count) : count_(count) {
    const std::size_t alignment = count * sizeof(T) >= kHugePage ? kHugePage : kCacheLine;
    const std::size_t bytes = std::max<std::size_t>((count * sizeof(T) + alignment - 1) / alignment, 1) * alignment;
    data_.reset(static_cast<T*>(std::aligned_alloc(alignment, bytes)));
    if (data_ == nullptr) throw std::bad_alloc();
    // Clearing half a gigabyte in pages of 4 KiB takes a third of a second. A kernel without huge pages refuses: slower, nothing else.
    if (alignment == kHugePage) ::madvise(data_.get(), bytes, MADV_HUGEPAGE);
  }
  /// Over the memory of another owner.
  AlignedArray(std::span<T> memory, std::shared_ptr<const void> owner) : data_(memory.data(), Free{std::move(owner)}), count_(memory.size()) {}
  explicit AlignedArray(std::span<const T> values) : AlignedArray(values.size()) { std::copy(values.begin(), values.end(), data_.get()); }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return count_; }
  std::span<T> span() { return {data_.get(), count_}; }
  std::span<const T> span() const { return {data_.get(), count_}; }
  operator std::span<const T>() const { return span(); }
  friend bool operator==(const AlignedArray& a, std::span<const T> b) { return std::equal(b.begin(), b.end(), a.data(), a.data() + a.size()); }

 private:
  static constexpr std::size_t kCacheLine = 64, kHugePage = std::size_t(2) << 20;
  struct Free {
    std::shared_ptr<const void> owner{};  ///< of memory that is not ours
    void operator()(T* p) const {
      if (owner == nullptr) std::free(p);
    }
  };
  std::unique_ptr<T[], Free> data_;
  std::size_t count_ = 0;
};

using AlignedFloats = AlignedArray<float>;

}  // namespace rollcall::model
