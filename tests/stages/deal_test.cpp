// Groups dealt to generation ranks: all of them, in order, in shares of about equal rollouts.
#include "stages/coordinator.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace rollcall::stages {
namespace {

TEST(Deal, CoversAllGroupsInOrderAndInBalance) {
  EXPECT_TRUE(rc::check("contiguous shares within one group of the mean", [] {
    const auto counts = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(1, 40));
    const auto ranks = std::size_t(*rc::gen::inRange(1, 70));
    std::vector<GroupPlan> groups;
    std::uint64_t total = 0, largest = 0;
    for (const auto count : counts) {
      groups.push_back({.id = {1, {groups.size()}, 0}, .level = 0, .first_sample = 0, .count = count});
      total += count, largest = std::max<std::uint64_t>(largest, count);
    }
    const auto shares = deal(groups, ranks);
    RC_ASSERT(shares.size() == ranks);
    std::uint64_t next = 0;
    for (const auto& share : shares) {
      std::uint64_t rollouts = 0;
      for (const auto& group : share) {
        RC_ASSERT(group.id.prompt.value == next);
        RC_ASSERT(group.count == counts[next]);
        rollouts += group.count, ++next;
      }
      RC_ASSERT(rollouts * ranks < total + (largest + 1) * ranks);
    }
    RC_ASSERT(next == groups.size());
  }));
}

TEST(Deal, GivesEqualGroupsEqually) {
  std::vector<GroupPlan> groups(12);
  for (auto& group : groups) group.count = 8;
  for (const auto& share : deal(groups, 4)) EXPECT_EQ(share.size(), 3U);
}

}  // namespace
}  // namespace rollcall::stages
