// Weighted GRPO's pairs, one-shot RLVR, GRESO, ScaleRL: which prompts come back and which do not.
#include "scheduling/sampler/historical_deviation.hpp"
#include "scheduling/sampler/skipping.hpp"
#include "scheduling/works_when/small_run.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace rollcall::scheduling {
namespace {

TEST(Wgrpo, PairsAHardSolvedPromptWithAnEasyFailedOne) {
  const auto policy = make_scheduler({"wgrpo"}, {}, prompt_table(10, 1), 1);
  // Success rates of prompts 0 to 9: 0, 1/8, 2/8, 3/8, 5/8, 6/8, 7/8, 1, 1, 0.
  const std::vector<int> right = {0, 1, 2, 3, 5, 6, 7, 8, 8, 0};
  policy->begin_step(
      {.step = 0, .prompts = 10, .budget = 80, .min_rollouts = 8, .max_rollouts = 8});
  std::vector<GroupReport> reports;
  for (std::uint64_t p = 0; p < 10; ++p) reports.push_back(group(p, right[p], 8));
  policy->end_step(reports);
  for (std::uint64_t step = 1; step < 50; ++step) {
    const auto d = policy->begin_step(
        {.step = step, .prompts = 6, .budget = 48, .min_rollouts = 8, .max_rollouts = 8});
    for (std::size_t i = 0; i < 6; ++i) {
      const int r = right[d.groups[i].id.prompt.value];
      EXPECT_TRUE(i % 2 == 0 ? 0 < r && r < 4 : 4 < r && r < 8) << step << ' ' << i;
    }
  }
}

/// Success rates of the prompts of each place over 20 steps, after one in which all prompts were
/// seen.
std::vector<std::vector<int>> places(const Knobs& knobs, const std::vector<int>& right,
                                     std::int64_t prompts) {
  const auto policy = make_scheduler({"wgrpo"}, knobs, prompt_table(right.size(), 1), 1);
  policy->begin_step({.step = 0,
                      .prompts = std::int64_t(right.size()),
                      .budget = 8 * std::int64_t(right.size()),
                      .min_rollouts = 8,
                      .max_rollouts = 8});
  std::vector<GroupReport> reports;
  for (std::uint64_t p = 0; p < right.size(); ++p) reports.push_back(group(p, right[p], 8));
  policy->end_step(reports);
  std::vector<std::vector<int>> all(static_cast<std::size_t>(prompts));
  for (std::uint64_t step = 1; step <= 20; ++step) {
    const auto d = policy->begin_step({.step = step,
                                       .prompts = prompts,
                                       .budget = 8 * prompts,
                                       .min_rollouts = 8,
                                       .max_rollouts = 8});
    EXPECT_EQ(d.groups.size(), std::size_t(prompts));
    std::set<GroupId> distinct;
    for (std::size_t i = 0; i < d.groups.size(); ++i) {
      distinct.insert(d.groups[i].id);
      all[i].push_back(right[d.groups[i].id.prompt.value]);
    }
    EXPECT_EQ(distinct.size(), d.groups.size());
  }
  return all;
}

TEST(Wgrpo, ASideThatHasRunOutRepeatsItsPrompts) {
  const std::vector<int> one_hard = {0, 0, 2, 7, 6, 8, 8, 8}, no_easy = {0, 0, 2, 3, 8, 8, 8, 8},
                         nobody = {0, 0, 8, 8};
  const auto dead = [](const std::vector<std::vector<int>>& places) {
    int count = 0;
    for (const auto& place : places)
      count +=
          int(std::count_if(place.begin(), place.end(), [](int r) { return r == 0 || r == 8; }));
    return count;
  };
  EXPECT_GT(dead(places({{"pairs_only", "false"}}, one_hard, 6)), 0);
  const auto paired = places({}, one_hard, 6);
  for (std::size_t i = 0; i < 6; ++i)
    for (const int r : paired[i])
      EXPECT_TRUE(i % 2 == 0 ? r == 2 : r == 6 || r == 7) << i << ' ' << r;
  EXPECT_EQ(dead(places({}, no_easy, 6)), 0);
  EXPECT_EQ(dead(places({}, nobody, 4)), 4 * 20);  // a step is full whatever is left
}

TEST(Wgrpo, PairsMeasuredBeforeStayTheSame) {
  PromptTable table = prompt_table(6, 1);
  table.prior = {0.0F, 0.4F, 0.1F, 0.9F, 1.0F, 0.6F};
  const auto policy = make_scheduler({"wgrpo"}, {{"measured_before", "true"}}, table, 1);
  EXPECT_EQ(policy->traits().needs.at(0).field, "prior");
  for (std::uint64_t step = 0; step < 10; ++step) {
    const auto d = policy->begin_step(
        {.step = step, .prompts = 2, .budget = 16, .min_rollouts = 8, .max_rollouts = 8});
    EXPECT_EQ(d.groups[0].id.prompt.value, 2U);  // the rarest success and the rarest failure
    EXPECT_EQ(d.groups[1].id.prompt.value, 3U);
    policy->end_step({group(2, 8, 8, step), group(3, 0, 8, step)});  // what is seen changes nothing
  }
}

TEST(OneShot, RanksByTheDeviationOfTheAccuracy) {
  Knowledge known(prompt_table(4, 1), 1);
  HistoricalDeviationSampler sampler(known);
  // Accuracies over three epochs: prompt 0: 1/2 1/2 1/2 (0); 1: 0 1/2 1 (0.408); 2: 0 0 1 (0.471);
  // 3: 1/4 1/2 3/4 (0.204).
  const std::vector<std::vector<int>> right = {{2, 2, 2}, {0, 2, 4}, {0, 0, 4}, {1, 2, 3}};
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (std::uint64_t p = 0; p < 4; ++p) sampler.learn({group(p, right[p][epoch], 4, epoch)});
  }
  EXPECT_EQ(sampler.ranking(), (std::vector<PromptId>{{2}, {1}, {3}, {0}}));
  const StepRequest late = {
      .step = 9, .prompts = 3, .budget = 3, .min_rollouts = 1, .max_rollouts = 1, .progress = 0.5};
  const auto draws = sampler.choose(late, {});
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(draws[i].prompt.value, 2U);
    EXPECT_EQ(draws[i].draw, i);  // copies, told apart
  }
}

TEST(OneShot, TakesATaskOfOnePrompt) {
  const auto policy = make_scheduler({"one_shot"}, {{"rank_after", "0"}}, prompt_table(1, 1), 1);
  for (std::uint64_t step = 0; step < 3; ++step) {
    const auto played = play(
        *policy, {.step = step, .prompts = 16, .budget = 128, .min_rollouts = 8, .max_rollouts = 8},
        at_rates([](std::uint64_t) { return 0.5; }));
    EXPECT_EQ(played.count(0), 128);
    EXPECT_EQ(played.reports.size(), 16U);
  }
}

TEST(Greso, SkipChanceGrowsWithUninformativeGroupsInARow) {
  Knowledge known(prompt_table(3, 1), 1);
  SkipUninformativeSampler sampler(known);
  EXPECT_EQ(sampler.skip_chance({0}), 0.0);
  sampler.learn({group(0, 8, 8), group(1, 0, 8), group(2, 3, 8)});
  EXPECT_DOUBLE_EQ(sampler.skip_chance({0}), 0.5);  // 1 - 0.5
  EXPECT_DOUBLE_EQ(sampler.skip_chance({1}), 0.5);
  EXPECT_DOUBLE_EQ(sampler.skip_chance({2}), 0.0);
  sampler.learn({group(0, 8, 8), group(1, 8, 8)});
  EXPECT_DOUBLE_EQ(sampler.skip_chance({0}), 0.75);  // 1 - 0.5^2
  EXPECT_DOUBLE_EQ(sampler.skip_chance({1}), 0.5);   // all wrong, then all right: a new row
  for (int i = 0; i < 10; ++i) sampler.learn({group(0, 8, 8)});
  EXPECT_DOUBLE_EQ(sampler.skip_chance({0}), 0.99);  // one chance in a hundred stays
  sampler.learn({group(0, 7, 8)});
  EXPECT_EQ(sampler.skip_chance({0}), 0.0);
}

TEST(Greso, HearsRewardsAndNotWhoWasRight) {
  Knowledge known(prompt_table(3, 1), 1);
  SkipUninformativeSampler sampler(known);
  GroupReport graded = group(0, 8, 8), flat = group(1, 6, 8), few = group(2, 2, 8);
  // all right, and paid by length
  for (std::size_t i = 0; i < 8; ++i) graded.rewards[i] = 1.0 - 0.1 * double(i);
  flat.rewards.assign(8, 0.1), few.rewards.assign(8, 0.1);
  few.rewards[5] = 0.1 + 2e-17;  // rounding
  sampler.learn({graded, flat, few});
  EXPECT_DOUBLE_EQ(sampler.skip_chance({0}), 0.0);
  EXPECT_DOUBLE_EQ(sampler.skip_chance({1}), 0.5);
  EXPECT_DOUBLE_EQ(sampler.skip_chance({2}), 0.5);
  const auto z = sampler.save().at("in_a_row");
  EXPECT_EQ(z.at(1).at(1).get<int>(), 1) << "most were right: easy";
  EXPECT_EQ(z.at(2).at(1).get<int>(), -1) << "most were wrong: hard";
}

TEST(Greso, FollowsTheTargetFromTheSecondEpochOn) {
  Knowledge known(prompt_table(4, 1), 1);
  SkipUninformativeSampler sampler(known);
  const auto p = [&] {
    return std::pair(sampler.metrics()[0].second, sampler.metrics()[1].second);
  };
  sampler.learn({group(0, 8, 8)});
  EXPECT_EQ(p(), std::pair(0.5, 0.5));
  for (std::uint64_t step = 1; step < 4; ++step) sampler.choose({.step = step, .prompts = 2}, {});
  sampler.learn({group(0, 8, 8), group(1, 3, 8)});  // half of the groups too easy, none too hard;
                                                    // targets 1/12 and 1/6
  EXPECT_NEAR(p().first, 0.49, 1e-12);
  EXPECT_NEAR(p().second, 0.51, 1e-12);
}

TEST(Greso, FewerGroupsTeachNothingThanUnderUniform) {
  const auto thirds = [](std::uint64_t prompt) { return 0.5 * double(prompt % 3); };
  const StepRequest step = {
      .step = 0, .prompts = 10, .budget = 80, .min_rollouts = 8, .max_rollouts = 8};
  const auto greso = make_scheduler({"greso"}, {}, prompt_table(60, 1), 1),
             dapo = make_scheduler({"dapo"}, {}, prompt_table(60, 1), 1);
  EXPECT_LT(dead_share(*greso, step, 20, 30, thirds),
            0.75 * dead_share(*dapo, step, 20, 30, thirds));
}

TEST(Greso, SurplusInformativeGroupsDoNotTrain) {
  const auto policy = make_scheduler({"greso"}, {}, prompt_table(8, 1), 1);
  std::vector<GroupReport> reports;
  for (std::uint64_t p = 0; p < 6; ++p) reports.push_back(group(p, p == 5 ? 4 : 2, 4));
  const auto training = policy->settle({.step = 0, .prompts = 3, .budget = 12}, reports);
  EXPECT_EQ(training.drawn, 24);
  EXPECT_EQ(training.trained, 12);        // three of the five informative groups
  EXPECT_EQ(training.groups.size(), 3U);  // two of them and the one without variance stay out
}

TEST(Scalerl, APromptAtNineTenthsNeverComesBack) {
  const auto policy = make_scheduler({"scalerl"}, {}, prompt_table(20, 1), 1);
  policy->begin_step(
      {.step = 0, .prompts = 20, .budget = 200, .min_rollouts = 10, .max_rollouts = 10});
  std::vector<GroupReport> reports;
  for (std::uint64_t p = 0; p < 20; ++p) reports.push_back(group(p, p == 7 ? 9 : 8, 10));
  policy->end_step(reports);
  std::set<std::uint64_t> seen;
  for (std::uint64_t step = 1; step < 30; ++step) {
    for (const auto& g :
         policy
             ->begin_step(
                 {.step = step, .prompts = 4, .budget = 40, .min_rollouts = 10, .max_rollouts = 10})
             .groups)
      seen.insert(g.id.prompt.value);
  }
  EXPECT_FALSE(seen.contains(7));
  EXPECT_EQ(seen.size(), 19U);
}

TEST(Scalerl, GroupsWithoutVarianceDoNotTrain) {
  const auto policy = make_scheduler({"scalerl"}, {}, prompt_table(20, 1), 1);
  const auto played = play(
      *policy, {.step = 0, .prompts = 6, .budget = 24, .min_rollouts = 4, .max_rollouts = 4},
      [](const GroupPlan& g, std::uint32_t s) { return g.id.prompt.value % 2 == 0 && s % 2 == 0; });
  std::int64_t mixed = 0;
  for (const auto& g : played.reports) mixed += 4 * std::int64_t(g.id.prompt.value % 2 == 0);
  EXPECT_EQ(played.training.drawn, 24);
  EXPECT_EQ(played.training.trained, mixed);
}

}  // namespace
}  // namespace rollcall::scheduling
