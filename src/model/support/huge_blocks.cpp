// Idle blocks are ranges of addresses, which are merged with their neighbours.
#include "model/support/huge_blocks.hpp"

#include "base/errors/error.hpp"
#include "model/support/team.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>

namespace rollcall::model {
namespace {

constexpr std::size_t kSmallPage = 4096;

/// Unmapping can fail if it cuts a range in two and the system has no room for the new entry.
void unmap(std::byte* begin, std::size_t bytes) {
  if (bytes > 0 && ::munmap(begin, bytes) != 0) throw std::bad_alloc();
}

/// Asks for huge pages, because clearing half a gigabyte in pages of 4 KiB takes a third of a
/// second. A kernel without huge pages ignores that, and is only slower.
std::byte* map_block(std::size_t bytes) {
  void* mapped = ::mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(mapped);
  const std::size_t before =
      (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  unmap(begin, before);
  unmap(begin + before + bytes, kHugePage - before);
  ::madvise(begin + before, bytes, MADV_HUGEPAGE);
  return begin + before;
}

}  // namespace

HugeBlocks::~HugeBlocks() {
  for (const auto& [begin, bytes] : idle_) ::munmap(begin, bytes);
}

std::byte* HugeBlocks::take(std::size_t bytes) {
  expect(bytes > 0 && bytes % kHugePage == 0, "blocks are whole huge pages");
  const std::lock_guard lock(mutex_);
  std::byte* block = reuse(bytes);
  if (block == nullptr) {
    const std::size_t most = std::max(most_in_use_, in_use_ + bytes),
                      wanted = in_use_ + bytes + idle_bytes_;
    if (wanted > most) release(wanted - most);
    try {
      block = map_block(bytes);
    } catch (const std::bad_alloc&) {  // by a limit on the address space, or a system without
                                       // overcommitted memory
      release(idle_bytes_);
      block = map_block(bytes);
    }
  }
  in_use_ += bytes;
  most_in_use_ = std::max(most_in_use_, in_use_);
  return block;
}

/// Takes the front of the smallest idle range that is large enough, or returns nullptr.
std::byte* HugeBlocks::reuse(std::size_t bytes) {
  auto best = idle_.end();
  for (auto it = idle_.begin(); it != idle_.end(); ++it)
    if (it->second >= bytes && (best == idle_.end() || it->second < best->second)) best = it;
  if (best == idle_.end()) return nullptr;
  const auto [begin, size] = *best;
  auto node = idle_.extract(best);
  idle_bytes_ -= bytes;
  if (size > bytes) {
    node.key() = begin + bytes, node.mapped() = size - bytes;
    idle_.insert(std::move(node));
  }
  return begin;
}

/// Unmaps the ends of the smallest ranges first, because those serve the fewest requests.
void HugeBlocks::release(std::size_t bytes) {
  while (bytes > 0) {
    const auto smallest =
        std::min_element(idle_.begin(), idle_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::size_t part = std::min(bytes, smallest->second);
    unmap(smallest->first + smallest->second - part, part);
    smallest->second -= part, idle_bytes_ -= part, bytes -= part;
    if (smallest->second == 0) idle_.erase(smallest);
  }
}

void HugeBlocks::give_back(std::byte* block, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  in_use_ -= bytes;
  try {
    const auto [own, fresh] = idle_.emplace(block, bytes);
    expect(fresh, "a block is given back once");
    idle_bytes_ += bytes;
    if (const auto next = std::next(own);
        next != idle_.end() && own->first + own->second == next->first) {
      own->second += next->second;
      idle_.erase(next);
    }
    if (own == idle_.begin()) return;
    if (const auto before = std::prev(own); before->first + before->second == own->first) {
      before->second += own->second;
      idle_.erase(own);
    }
  } catch (const std::bad_alloc&) {  // no memory for the entry
    ::munmap(block, bytes);
  }
}

void HugeBlocks::reserve(std::size_t bytes, const Threads& threads) {
  const std::size_t pages = (bytes + kHugePage - 1) / kHugePage;
  if (pages == 0) return;
  std::byte* const block = take(pages * kHugePage);
  threads.deal(std::int64_t(pages), [&](std::int64_t page) {
    // Touches every small page, because the system may have no huge ones.
    for (std::size_t at = 0; at < kHugePage; at += kSmallPage)
      block[std::size_t(page) * kHugePage + at] = std::byte{0};
  });
  give_back(block, pages * kHugePage);
}

void HugeBlocks::release_idle() {
  const std::lock_guard lock(mutex_);
  release(idle_bytes_);
}

std::size_t HugeBlocks::mapped() const {
  const std::lock_guard lock(mutex_);
  return in_use_ + idle_bytes_;
}
std::size_t HugeBlocks::most_in_use() const {
  const std::lock_guard lock(mutex_);
  return most_in_use_;
}

HugeBlocks& huge_blocks() {
  static HugeBlocks& blocks = *new HugeBlocks;
  return blocks;
}

}  // namespace rollcall::model
