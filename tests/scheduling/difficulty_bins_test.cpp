// Difficulty bins: edges, hysteresis, members that move in constant time, and states that do not
// fit together.
#include "scheduling/prompts/difficulty_bins.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>

namespace rollcall::scheduling {
namespace {

struct Bins {
  explicit Bins(std::uint64_t prompts, double margin = 0.03, bool exclude_extremes = false)
      : where(prompts, 10), bins({0, 0.25, 0.5, 0.75, 1}, margin, exclude_extremes, where) {
    for (std::uint64_t p = 0; p < prompts; ++p) bins.place({p}, 0.5);
  }
  PromptHistory where;
  DifficultyBins bins;
};

TEST(DifficultyBins, EdgesBelongToTheBinAbove) {
  Bins b(1, 0.0);
  for (const auto& [estimate, bin] : std::vector<std::pair<double, int>>{
           {0, 0}, {0.2499, 0}, {0.25, 1}, {0.5, 2}, {0.75, 3}, {1, 3}}) {
    b.bins.update({0}, estimate);
    EXPECT_EQ(b.bins.of({0}), bin) << estimate;
  }
}

TEST(DifficultyBins, APromptLeavesOnlyPastTheMargin) {
  Bins b(1);
  const auto after = [&](double estimate) {
    b.bins.update({0}, estimate);
    return b.bins.of({0});
  };
  EXPECT_EQ(after(0.48), 2);   // below 0.5, within the margin
  EXPECT_EQ(after(0.469), 1);  // past it
  EXPECT_EQ(after(0.52), 1);   // back above 0.5, within the margin
  EXPECT_EQ(after(0.531), 2);
  EXPECT_EQ(after(1.0), 3);  // several bins at once
  EXPECT_EQ(after(0.0), 0);
}

TEST(DifficultyBins, TheWholeMarginIsEnoughEitherWay) {
  Bins b(1, 0.25);
  b.bins.update({0}, 0.75);  // bin 2 ends there: its margin ends at 1
  EXPECT_EQ(b.bins.of({0}), 2);
  b.bins.update({0}, 0.25);  // exactly 0.5 - 0.25
  EXPECT_EQ(b.bins.of({0}), 1);
  b.bins.update({0}, 0.75);  // exactly 0.5 + 0.25
  EXPECT_EQ(b.bins.of({0}), 3);
}

TEST(DifficultyBins, ExtremesHaveABinOfTheirOwnWithoutAMargin) {
  Bins b(1, 0.1, true);
  ASSERT_EQ(b.bins.size(), 5U);
  const auto after = [&](double estimate) {
    b.bins.update({0}, estimate);
    return b.bins.of({0});
  };
  EXPECT_EQ(after(1.0), 4);
  EXPECT_EQ(after(0.74), 2);  // wherever it was before
  EXPECT_EQ(after(0.76), 2);  // within the margin
  EXPECT_EQ(after(0.0), 4);
  EXPECT_EQ(after(0.0), 4);
  EXPECT_EQ(after(0.01), 0);
}

TEST(DifficultyBins, MembersAreAlwaysAPartition) {
  EXPECT_TRUE(
      rc::check("every prompt in one list, at its slot; only reported prompts change place", [] {
        const auto prompts = std::uint64_t(*rc::gen::inRange(1, 30));
        Bins b(prompts, 0.03, *rc::gen::arbitrary<bool>());
        for (int i = 0; i < 60; ++i) {
          std::vector<std::uint32_t> before(prompts);
          for (std::uint64_t p = 0; p < prompts; ++p) before[p] = b.bins.slot({p});
          const auto moved = b.bins.update({std::uint64_t(*rc::gen::inRange<int>(0, int(prompts)))},
                                           double(*rc::gen::inRange(0, 101)) / 100.0);
          std::size_t members = 0;
          for (std::size_t bin = 0; bin < b.bins.size(); ++bin)
            members += b.bins.members(std::int32_t(bin)).size();
          RC_ASSERT(members == prompts);
          for (std::uint64_t p = 0; p < prompts; ++p) {
            RC_ASSERT(b.bins.members(b.bins.of({p}))[b.bins.slot({p})] == p);
            RC_ASSERT(b.bins.slot({p}) == before[p] ||
                      (moved && std::find(moved->begin(), moved->end(), p) != moved->end()));
          }
        }
      }));
}

TEST(DifficultyBins, AMoveCostsTheSameForAnyNumberOfPrompts) {
  // 200,000 moves among 400,000 prompts in one list: milliseconds, where searching or shifting the
  // list would take minutes.
  Bins b(400'000);
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t p = 0; p < 200'000; ++p) b.bins.update({p}, 0.0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_EQ(b.bins.members(0).size(), 200'000U);
}

TEST(DifficultyBins, RestoreRejectsPlacesThatDoNotFit) {
  using Place = DifficultyBins::Place;
  const auto fits = [&](const std::vector<Place>& places) {
    Bins b(3);  // all in bin 2, slots 0 1 2
    return b.bins.restore(places);
  };
  EXPECT_TRUE(fits({}));
  EXPECT_TRUE(fits({{0, 1, 0}, {1, 2, 1}, {2, 2, 0}}));
  EXPECT_FALSE(fits({{0, 4, 0}}));  // no such bin
  EXPECT_FALSE(fits({{0, 1, 0}}));  // slot 0 of bin 2 is empty, slot 2 does not exist
  EXPECT_FALSE(fits({{0, 1, 1}, {1, 2, 1}, {2, 2, 0}}));  // a slot past the end
  EXPECT_FALSE(fits({{0, 2, 0}, {1, 2, 0}}));             // two in one slot
}

}  // namespace
}  // namespace rollcall::scheduling
