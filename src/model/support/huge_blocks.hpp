// Memory in whole huge pages that is kept when it is given back: the kernel clears what it maps,
// and a step takes and gives back gigabytes.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace rollcall::model {

struct Threads;

inline constexpr std::size_t kHugePage = std::size_t(2) << 20;
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kKeepsBlocks = false;  ///< it watches what is allocated by itself
#else
inline constexpr bool kKeepsBlocks = true;
#endif

/// Blocks of multiples of kHugePage, at such a boundary, contents undefined. Never more is mapped
/// than was in use, or reserved, at once: what is idle serves other sizes, or goes back to the
/// system before more is asked of it. Before other kinds of memory are needed in its place,
/// release_idle() gives it back. Shared between threads.
class HugeBlocks {
 public:
  HugeBlocks() = default;
  ~HugeBlocks();
  HugeBlocks(const HugeBlocks&) = delete;
  HugeBlocks& operator=(const HugeBlocks&) = delete;

  /// Throws std::bad_alloc.
  std::byte* take(std::size_t bytes);
  void give_back(std::byte* block, std::size_t bytes) noexcept;
  /// Maps and touches so much beyond what is in use, for those that take it later, in whatever
  /// sizes. Throws std::bad_alloc.
  void reserve(std::size_t bytes, const Threads& threads);
  void release_idle();
  std::size_t mapped() const;       ///< bytes in use and idle
  std::size_t most_in_use() const;  ///< at once

 private:
  std::byte* reuse(std::size_t bytes);
  void release(std::size_t bytes);

  mutable std::mutex mutex_;
  std::map<std::byte*, std::size_t> idle_;  ///< none touches another
  std::size_t idle_bytes_ = 0, in_use_ = 0, most_in_use_ = 0;
};

/// Of this process, for good: arrays may outlive anything.
HugeBlocks& huge_blocks();

}  // namespace rollcall::model
