// Memory in whole huge pages, which is kept for reuse when it is given back. The kernel has to
// clear all memory that it maps, and a step takes and gives back gigabytes.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace rollcall::model {

struct Threads;

inline constexpr std::size_t kHugePage = std::size_t(2) << 20;
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kKeepsBlocks = false;  ///< AddressSanitizer checks each allocation
#else
inline constexpr bool kKeepsBlocks = true;
#endif

/// Blocks whose sizes and addresses are multiples of kHugePage, with undefined contents. The mapped
/// memory never exceeds what was in use, or reserved, at one time: an idle block serves requests of
/// other sizes, or returns to the system before more memory is mapped. If other memory is needed
/// instead, release_idle() returns all idle blocks. Shared between threads.
class HugeBlocks {
 public:
  HugeBlocks() = default;
  ~HugeBlocks();
  HugeBlocks(const HugeBlocks&) = delete;
  HugeBlocks& operator=(const HugeBlocks&) = delete;

  /// Throws std::bad_alloc.
  std::byte* take(std::size_t bytes);
  void give_back(std::byte* block, std::size_t bytes) noexcept;
  /// Maps and touches `bytes` beyond what is in use, for later requests of any size. Throws
  /// std::bad_alloc.
  void reserve(std::size_t bytes, const Threads& threads);
  void release_idle();
  std::size_t mapped() const;       ///< bytes in use and idle
  std::size_t most_in_use() const;  ///< the most bytes in use at one time

 private:
  std::byte* reuse(std::size_t bytes);
  void release(std::size_t bytes);

  mutable std::mutex mutex_;
  std::map<std::byte*, std::size_t> idle_;  ///< neighbouring blocks are merged
  std::size_t idle_bytes_ = 0, in_use_ = 0, most_in_use_ = 0;
};

/// The blocks of this process. They are never destroyed, because arrays may outlive any other
/// object.
HugeBlocks& huge_blocks();

}  // namespace rollcall::model
