// Blocks are apart from one another, come from what is idle where they can, and never more is
// mapped than was in use, or reserved, at once.
#include "model/support/huge_blocks.hpp"

#include "model/support/team.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

namespace rollcall::model {
namespace {

bool is_mapped(std::byte* address) {
  unsigned char resident = 0;
  return ::mincore(address, 4096, &resident) == 0 || errno != ENOMEM;
}

TEST(HugeBlocks, AreApartKeepWhatIsWrittenAndMapNoMoreThanWasInUse) {
  EXPECT_TRUE(rc::check([] {
    HugeBlocks blocks;
    std::map<std::byte*, std::size_t> held;
    std::size_t in_use = 0, most = 0;
    for (const int choice : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000))) {
      if (choice % 2 == 0 || held.empty()) {
        const std::size_t bytes = std::size_t(1 + choice / 2 % 9) * kHugePage;
        std::byte* block = blocks.take(bytes);
        RC_ASSERT(reinterpret_cast<std::uintptr_t>(block) % kHugePage == 0U);
        const auto next = held.lower_bound(block);
        const bool ends_before = next == held.end() || block + bytes <= next->first;
        const bool begins_behind =
            next == held.begin() || std::prev(next)->first + std::prev(next)->second <= block;
        RC_ASSERT(ends_before && begins_behind);
        std::memcpy(block, &block, sizeof block);  // its own address, at either end
        std::memcpy(block + bytes - sizeof block, &block, sizeof block);
        held[block] = bytes, in_use += bytes, most = std::max(most, in_use);
      } else {
        const auto one =
            std::next(held.begin(), std::ptrdiff_t(std::size_t(choice) / 2 % held.size()));
        const auto [block, bytes] = *one;
        RC_ASSERT(std::memcmp(block, &block, sizeof block) == 0);
        RC_ASSERT(std::memcmp(block + bytes - sizeof block, &block, sizeof block) == 0);
        blocks.give_back(block, bytes);
        held.erase(one), in_use -= bytes;
      }
      RC_ASSERT(blocks.most_in_use() == most);
      RC_ASSERT(blocks.mapped() >= in_use);
      RC_ASSERT(blocks.mapped() <= most);
    }
    for (const auto& [block, bytes] : held) blocks.give_back(block, bytes);
  }));
}

/// An update's one large block and generation's many small ones take turns in the same memory.
TEST(HugeBlocks, ServeOtherSizesByTurns) {
  HugeBlocks blocks;
  std::byte* const large = blocks.take(16 * kHugePage);
  blocks.give_back(large, 16 * kHugePage);
  for (int step = 0; step < 3; ++step) {
    std::vector<std::byte*> pages;
    for (int i = 0; i < 8; ++i) pages.push_back(blocks.take(2 * kHugePage));
    for (std::byte* page : pages)
      EXPECT_TRUE(page >= large && page + 2 * kHugePage <= large + 16 * kHugePage);
    for (const int i : {3, 0, 7, 1, 2, 6, 4, 5})
      blocks.give_back(pages[std::size_t(i)], 2 * kHugePage);
    EXPECT_EQ(blocks.take(16 * kHugePage), large);
    EXPECT_EQ(blocks.mapped(), 16 * kHugePage);
    blocks.give_back(large, 16 * kHugePage);
  }
}

TEST(HugeBlocks, WhatDoesNotServeGoesBackToTheSystem) {
  HugeBlocks blocks;
  const std::array<std::byte*, 3> held{blocks.take(kHugePage), blocks.take(kHugePage),
                                       blocks.take(kHugePage)};
  blocks.give_back(held[0], kHugePage);
  blocks.give_back(held[2], kHugePage);
  EXPECT_TRUE(is_mapped(held[0]) && is_mapped(held[2]));
  std::byte* const larger = blocks.take(2 * kHugePage);  // either idle one is too small, unless
                                                         // they touched
  EXPECT_EQ(blocks.mapped(), 3 * kHugePage);
  const auto inside = [&](std::byte* address) {
    return address >= larger && address < larger + 2 * kHugePage;
  };
  EXPECT_TRUE(inside(held[0]) || !is_mapped(held[0]));
  EXPECT_TRUE(inside(held[2]) || !is_mapped(held[2]));
  blocks.give_back(larger, 2 * kHugePage);
  blocks.give_back(held[1], kHugePage);
}

/// Beside what is in use, all of it in memory, for whatever sizes come; until it is released.
TEST(HugeBlocks, WhatIsReservedIsThere) {
  HugeBlocks blocks;
  std::byte* const held = blocks.take(2 * kHugePage);
  blocks.reserve(5 * kHugePage - 100, {2});
  EXPECT_EQ(blocks.mapped(), 7 * kHugePage);
  std::array<std::byte*, 5> pages{};
  for (std::byte*& page : pages) {
    page = blocks.take(kHugePage);
    std::array<unsigned char, kHugePage / 4096> resident{};
    EXPECT_EQ(::mincore(page, kHugePage, resident.data()), 0);
    EXPECT_EQ(std::count(resident.begin(), resident.end(), 1), std::ptrdiff_t(resident.size()));
    EXPECT_EQ(blocks.mapped(), 7 * kHugePage);
  }
  for (std::byte* page : pages) blocks.give_back(page, kHugePage);
  blocks.reserve(3 * kHugePage, {});  // which is there
  EXPECT_EQ(blocks.mapped(), 7 * kHugePage);
  blocks.reserve(0, {});
  blocks.release_idle();
  EXPECT_EQ(blocks.mapped(), 2 * kHugePage);
  blocks.give_back(held, 2 * kHugePage);
}

TEST(HugeBlocks, IdleOnesAreReleasedWhenAsked) {
  HugeBlocks blocks;
  std::byte* const first = blocks.take(3 * kHugePage);
  std::byte* const second = blocks.take(kHugePage);
  blocks.give_back(first, 3 * kHugePage);
  EXPECT_EQ(blocks.mapped(), 4 * kHugePage);
  blocks.release_idle();
  EXPECT_EQ(blocks.mapped(), kHugePage);
  EXPECT_FALSE(is_mapped(first));
  EXPECT_TRUE(is_mapped(second));
  blocks.give_back(second, kHugePage);
}

}  // namespace
}  // namespace rollcall::model
