// The seeds of a conversation's turns.
#include "environment/talk.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace rollcall::environment {
namespace {

TEST(Talk, EveryTurnHasASeedOfItsOwnThatJsonHolds) {
  std::set<std::uint64_t> seen;
  for (const std::uint64_t turns :
       {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 53) - 1})
    for (std::uint32_t turn = 0; turn < 100; ++turn) {
      const std::uint64_t seed = step_seed({.start = 5, .turns = turns}, turn);
      EXPECT_LT(seed, std::uint64_t{1} << 53);
      EXPECT_TRUE(seen.insert(seed).second) << turns << " " << turn;
      EXPECT_EQ(seed, step_seed({.start = 6, .turns = turns}, turn))
          << "the start has a seed of its own";
    }
}

}  // namespace
}  // namespace rollcall::environment
