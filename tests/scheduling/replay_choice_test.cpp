// Which earlier groups come back: how many, how old, whose, and how often.
#include "scheduling/replay_choice.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace rollcall::scheduling {
namespace {

using Places = std::vector<std::size_t>;

/// Step s was sampled by policy 10 + s. Prompt 1 comes three times, the others once.
const std::vector<ReplayCandidate> kPast{{{1, {1}, 0}, 11, 0.5},  {{1, {2}, 0}, 11, 0.0},
                                         {{2, {1}, 0}, 12, 0.25}, {{2, {3}, 0}, 12, 0.5},
                                         {{3, {1}, 0}, 13, 0.0},  {{3, {4}, 0}, 13, 1.0}};

ReplaySection settings(const std::string& choose, double share = 0.5,
                       std::int64_t max_staleness = 100, bool distinct = false) {
  return {.share = share,
          .max_staleness = max_staleness,
          .choose = choose,
          .distinct_prompts = distinct,
          .old_policy = "sampler"};
}

TEST(ReplayChoice, NewestStepsComeFirst) {
  const ReplayRequest step{.seed = 1, .step = 4, .version = 14, .fresh = 3, .fresh_equal = 0};
  // half of six is three: both of step 3, the first of step 2
  EXPECT_EQ(choose_replay(settings("newest"), step, kPast), (Places{2, 4, 5}));
  EXPECT_EQ(choose_replay(settings("newest", 0.25), step, kPast), (Places{4}));  // 1/3 of 3
  // 27 wanted, six there
  EXPECT_EQ(choose_replay(settings("newest", 0.9), step, kPast).size(), 6U);
  EXPECT_EQ(choose_replay(settings("newest", 0.0), step, kPast), Places{});
}

TEST(ReplayChoice, TheStalenessLimitIsInclusive) {
  const ReplayRequest step{.seed = 1, .step = 4, .version = 14, .fresh = 9, .fresh_equal = 0};
  // schedulers 12 and 13
  EXPECT_EQ(choose_replay(settings("uniform", 0.5, 2), step, kPast), (Places{2, 3, 4, 5}));
  EXPECT_EQ(choose_replay(settings("uniform", 0.5, 1), step, kPast), (Places{4, 5}));
}

TEST(ReplayChoice, OfOnePromptOnlyTheNewestIsLeft) {
  const ReplayRequest step{.seed = 1, .step = 4, .version = 14, .fresh = 9, .fresh_equal = 0};
  EXPECT_EQ(choose_replay(settings("uniform", 0.5, 100, true), step, kPast), (Places{1, 3, 4, 5}));
}

TEST(ReplayChoice, AdvantageFillsThePlacesOfEqualRewards) {
  ReplayRequest step{.seed = 1, .step = 4, .version = 14, .fresh = 6, .fresh_equal = 2};
  EXPECT_EQ(choose_replay(settings("advantage"), step, kPast).size(), 2U);
  step.fresh_equal = 0;
  EXPECT_EQ(choose_replay(settings("advantage"), step, kPast), Places{});
  step.fresh_equal = 6;
  // the others have no advantage
  EXPECT_EQ(choose_replay(settings("advantage"), step, kPast), (Places{0, 2, 3, 5}));
}

/// How often each candidate is the only one drawn, over many steps.
std::map<std::size_t, int> frequencies(const std::string& choose, int steps) {
  std::map<std::size_t, int> drawn;
  for (int s = 0; s < steps; ++s) {
    const ReplayRequest step{
        .seed = 7, .step = std::uint64_t(s), .version = 14, .fresh = 1, .fresh_equal = 1};
    for (const std::size_t i : choose_replay(settings(choose), step, kPast)) ++drawn[i];
  }
  return drawn;
}

TEST(ReplayChoice, DrawsFollowTheirLaw) {
  constexpr int kSteps = 18000;
  auto uniform = frequencies("uniform", kSteps), weighted = frequencies("advantage", kSteps);
  // Four standard deviations of a share p are 4 sqrt(p (1 - p) / 18000), at most 0.015; the seed is
  // fixed.
  for (std::size_t i = 0; i < kPast.size(); ++i) {
    EXPECT_NEAR(uniform[i] / double(kSteps), 1.0 / 6.0, 0.015) << i;
    EXPECT_NEAR(weighted[i] / double(kSteps), kPast[i].advantage / 2.25, 0.015) << i;
  }
}

TEST(ReplayChoice, IsOfTheRightSizeAgeAndPromptsForAnyPast) {
  EXPECT_TRUE(rc::check("a choice is a subset within all limits, and the same again", [] {
    std::vector<ReplayCandidate> past;
    const auto count = *rc::gen::inRange<std::uint64_t>(0, 40);
    for (std::uint64_t i = 0; i < count; ++i)
      past.push_back({{1 + i / 4, {i % 3}, std::uint32_t(i)}, 1 + i / 4, double(i % 5)});
    const auto choose =
        *rc::gen::elementOf(std::vector<std::string>{"uniform", "newest", "advantage"});
    const auto section = settings(choose, double(*rc::gen::inRange(0, 96)) / 100.0,
                                  *rc::gen::inRange(1, 12), *rc::gen::arbitrary<bool>());
    const ReplayRequest step{*rc::gen::arbitrary<std::uint64_t>(), 11, 12,
                             *rc::gen::inRange<std::size_t>(0, 20),
                             *rc::gen::inRange<std::size_t>(0, 20)};
    const auto chosen = choose_replay(section, step, past);
    RC_ASSERT(chosen == choose_replay(section, step, past));
    RC_ASSERT(std::is_sorted(chosen.begin(), chosen.end()));
    RC_ASSERT(std::adjacent_find(chosen.begin(), chosen.end()) == chosen.end());
    const double wanted = section.share / (1 - section.share) * double(step.fresh);
    RC_ASSERT(double(chosen.size()) <= wanted + 0.5);
    std::set<PromptId> prompts;
    for (const std::size_t i : chosen) {
      RC_ASSERT(past[i].version + std::uint64_t(section.max_staleness) >= step.version);
      RC_ASSERT(choose != "advantage" || past[i].advantage > 0);
      prompts.insert(past[i].id.prompt);
    }
    RC_ASSERT(!section.distinct_prompts || prompts.size() == chosen.size());
  }));
}

}  // namespace
}  // namespace rollcall::scheduling
