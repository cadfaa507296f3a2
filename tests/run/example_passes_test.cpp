// Every example once a pass, whatever the batch.
#include "run/update/example_passes.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>
#include <vector>

namespace rollcall::run {
namespace {

std::vector<std::uint64_t> pass_of(ExamplePasses passes, std::uint64_t pass,
                                   std::uint64_t examples) {
  std::vector<std::uint64_t> order;
  for (std::uint64_t i = 0; i < examples; ++i) order.push_back(passes.at(pass * examples + i));
  return order;
}

TEST(ExamplePasses, HoldEveryExampleOnce) {
  EXPECT_TRUE(rc::check("a pass is a permutation", [] {
    const auto examples = *rc::gen::inRange<std::uint64_t>(1, 200),
               pass = *rc::gen::inRange<std::uint64_t>(0, 1000),
               seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto order = pass_of({seed, examples}, pass, examples);
    const std::set<std::uint64_t> all(order.begin(), order.end());
    RC_ASSERT(all.size() == examples);
    RC_ASSERT(*all.rbegin() == examples - 1);
  }));
}

/// A resume asks for a place without those before it.
TEST(ExamplePasses, APlaceKnowsNothingOfWhatWasAskedBefore) {
  ExamplePasses from_the_start(7, 32);
  for (std::uint64_t place = 0; place < 500; ++place)
    EXPECT_EQ(from_the_start.at(place), ExamplePasses(7, 32).at(place));
}

TEST(ExamplePasses, PassesAndSeedsHaveOrdersOfTheirOwn) {
  EXPECT_NE(pass_of({1, 32}, 0, 32), pass_of({1, 32}, 1, 32));
  EXPECT_NE(pass_of({1, 32}, 0, 32), pass_of({2, 32}, 0, 32));
}

/// Of the six orders of three examples none is rarer than the others: over 6000 passes each comes
/// 1000 times, with a standard deviation of 29.
TEST(ExamplePasses, EveryOrderIsEquallyLikely) {
  std::map<std::vector<std::uint64_t>, int> seen;
  for (std::uint64_t pass = 0; pass < 6000; ++pass) ++seen[pass_of({3, 3}, pass, 3)];
  ASSERT_EQ(seen.size(), 6U);
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, 1000, 5 * 29);
}

}  // namespace
}  // namespace rollcall::run
