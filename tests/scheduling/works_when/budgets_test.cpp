// Knapsack-RL, V_0, V_0.5, Reinforce-Ada, DARS and XRPO: how many rollouts a prompt gets, before
// and after the first look.
#include "scheduling/allocator/failure_utility.hpp"
#include "scheduling/allocator/knapsack.hpp"
#include "scheduling/prompts/mean_interval.hpp"
#include "scheduling/rounds/make_up.hpp"
#include "scheduling/rounds/prior_test.hpp"
#include "scheduling/works_when/small_run.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace rollcall::scheduling {
namespace {

double value(double p, std::int64_t n) {
  return (1 - std::pow(p, double(n)) - std::pow(1 - p, double(n))) * p * (1 - p) * (1 - p);
}

TEST(Knapsack, EqualsExhaustiveSearch) {
  EXPECT_TRUE(rc::check("no split of the budget is worth more", [] {
    std::vector<double> p;
    for (int i = 0; i < 3; ++i) p.push_back(double(*rc::gen::inRange(0, 101)) / 100);
    const std::int64_t low = *rc::gen::inRange(1, 3), high = low + *rc::gen::inRange(0, 9),
                       total = *rc::gen::inRange<std::int64_t>(3 * low, 3 * high + 1);
    const auto count = KnapsackAllocator::best(p, total, low, high);
    double best = 0, own = 0;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < 3; ++i) own += value(p[i], count[i]), sum += count[i];
    for (std::int64_t a = low; a <= high; ++a) {
      for (std::int64_t b = low; b <= high; ++b) {
        if (const std::int64_t c = total - a - b; low <= c && c <= high)
          best = std::max(best, value(p[0], a) + value(p[1], b) + value(p[2], c));
      }
    }
    RC_ASSERT(sum == total);
    RC_ASSERT(own >= best - 1e-12);
  }));
}

TEST(Knapsack, MovesTheBudgetFromSolvedToHardPrompts) {
  const auto policy = make_scheduler({"knapsack"}, {}, table_of({0.9F, 0.05F}), 1);
  const StepRequest request = {
      .step = 0, .prompts = 2, .budget = 64, .min_rollouts = 2, .max_rollouts = 128};
  const auto played = play(*policy, request, [](const GroupPlan& g, std::uint32_t s) {
    return g.id.prompt.value == 0 || s == 0;
  });
  EXPECT_GT(played.count(1), 2 * played.count(0));
  EXPECT_EQ(played.training.drawn, 64);
}

TEST(V0, TheMiddleOfThePredictionsGetsTheBudget) {
  const auto policy = make_scheduler({"v0"}, {}, table_of({0.5F, 0.02F, 0.98F}), 1);
  const auto played =
      play(*policy, {.step = 0, .prompts = 3, .budget = 78, .min_rollouts = 1, .max_rollouts = 78},
           at_rates([](std::uint64_t) { return 0.5; }));
  EXPECT_EQ(played.count(0), 76);  // it never gains less than 0.39; the others' first gain is 2 *
                                   // 0.02 * 0.98 = 0.0392
  EXPECT_EQ(played.count(1), 1);
  EXPECT_EQ(played.count(2), 1);
  // At n = 2 the gains are p q (1 + 3 q): 0.651 for p = 0.3 against 0.625 for p = 0.5, and they
  // grow from there.
  EXPECT_EQ(FailureUtilityAllocator::best({0.5, 0.3, 0.9}, 24, 2, 128),
            (std::vector<std::int64_t>{2, 20, 2}));
}

TEST(V05, TheRiskOfTheFusedBaselineDecides) {
  Knowledge known(prompt_table(1, 1), 1);
  PriorTestRounds rounds(known);
  // k = 4, mean 0.5, V = -0.5: D = 1 - 1/4 = 0.75; MSE(4) - MSE(5) = 0.75/4 - 0.75/4.75 = 0.0296 >
  // 0.0039.
  EXPECT_TRUE(rounds.wants_more(4, 0.5, -0.5));
  EXPECT_FALSE(rounds.wants_more(4, 0.0, -0.4));   // 0.16 < 1/4: the prior is within sampling noise
                                                   // and is used alone
  EXPECT_TRUE(rounds.wants_more(15, 1.0, -1.0));   // near 1/15 - 1/16 = 0.0042
  EXPECT_FALSE(rounds.wants_more(16, 1.0, -1.0));  // near 1/16 - 1/17 = 0.0037: the paper's k_max
}

TEST(V05, ACorrectPriorRarelyAddsRolloutsAFlippedOneMostly) {
  std::vector<float> right, flipped;
  for (int p = 0; p < 200; ++p)
    right.push_back(p % 2 == 0 ? 0.95F : 0.05F), flipped.push_back(p % 2 == 0 ? 0.05F : 0.95F);
  const StepRequest request = {
      .step = 0, .prompts = 200, .budget = 800, .min_rollouts = 4, .max_rollouts = 16};
  const auto rate = [](std::uint64_t p) { return p % 2 == 0 ? 0.95 : 0.05; };
  const auto extended = [&](const std::vector<float>& prior) {
    const auto played =
        play(*make_scheduler({"v0_5"}, {}, table_of(prior), 1), request, at_rates(rate));
    double more = 0;
    for (const auto& g : played.reports) more += g.correct.size() > 4;
    return more / 200;
  };
  EXPECT_LT(extended(right), 0.1);
  EXPECT_GT(extended(flipped), 0.9);
}

TEST(ReinforceAda, KeepsHalfAndHalfOfTheWholePool) {
  const auto policy =
      make_scheduler({"reinforce_ada"}, {{"ada_rounds", "2"}}, prompt_table(1, 1), 1);
  // 3 right of 16 after two rounds of 8: one in the first (not enough), two in the second.
  const StepRequest request = {
      .step = 0, .prompts = 1, .budget = 8, .min_rollouts = 8, .max_rollouts = 32};
  const auto played = play(*policy, request, [](const GroupPlan&, std::uint32_t s) {
    return s == 3 || s == 9 || s == 12;
  });
  EXPECT_EQ(played.training.drawn, 16);
  ASSERT_EQ(played.training.groups.size(), 1U);
  EXPECT_EQ(played.training.groups[0].keep,
            (std::vector<std::uint8_t>{1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
  // The statistics are the pool's: 1 - 3/16 and 0 - 3/16.
  double mean = 0;
  for (const double r : played.reports[0].rewards) mean += r / 16;
  EXPECT_DOUBLE_EQ(1 - mean, 0.8125);
  EXPECT_DOUBLE_EQ(0 - mean, -0.1875);
}

TEST(ReinforceAda, ABalancedPromptIsDoneAndTheCapHolds) {
  const auto policy = make_scheduler({"reinforce_ada"}, {}, prompt_table(3, 1), 1);
  const StepRequest request = {
      .step = 0, .prompts = 3, .budget = 12, .min_rollouts = 4, .max_rollouts = 64};
  // Prompt 0: 2 right and 2 wrong at once. Prompt 1: never right. Prompt 2: one of four.
  const auto played = play(*policy, request, [](const GroupPlan& g, std::uint32_t s) {
    return g.id.prompt.value == 0 ? s % 2 == 0 : g.id.prompt.value == 2 && s % 4 == 0;
  });
  EXPECT_EQ(played.count(0), 4);
  EXPECT_EQ(played.count(1), 16);  // four rounds of four
  EXPECT_EQ(played.count(2), 8);   // two right after the second round
  EXPECT_EQ(policy->hard_cap(request), 48);
}

TEST(ReinforceAdaPositive, OneRightAnswerIsEnough) {
  const auto policy = make_scheduler({"reinforce_ada_positive"}, {}, prompt_table(2, 1), 1);
  const auto played = play(
      *policy, {.step = 0, .prompts = 2, .budget = 8, .min_rollouts = 4, .max_rollouts = 64},
      [](const GroupPlan& g, std::uint32_t s) { return g.id.prompt.value == 0 ? s == 2 : s == 9; });
  EXPECT_EQ(played.count(0), 4);
  EXPECT_EQ(played.count(1), 12);
}

/// Extra rollouts after 8 of which a share was right.
std::vector<std::int64_t> extras(const std::string& row) {
  std::vector<std::int64_t> more;
  for (const std::uint32_t right : {4U, 3U, 2U, 1U, 0U}) {
    const auto policy = make_scheduler({row}, {}, prompt_table(1, 1), 1);
    more.push_back(
        play(*policy, {.step = 0, .prompts = 1, .budget = 8, .min_rollouts = 8, .max_rollouts = 64},
             [&](const GroupPlan&, std::uint32_t s) { return s < right; })
            .count(0) -
        8);
  }
  return more;
}

TEST(DarsEt, HandWorkedExtras) {
  EXPECT_EQ(extras("dars_et"), (std::vector<std::int64_t>{0, 1, 3, 11, 24}));
}
TEST(DarsHw, HandWorkedExtras) {
  EXPECT_EQ(extras("dars_hw"), (std::vector<std::int64_t>{0, 3, 8, 24, 56}));
}

TEST(DarsEt, GroupsWithoutVarianceLeave) {
  const auto policy = make_scheduler({"dars_et"}, {}, prompt_table(3, 1), 1);
  const auto played =
      play(*policy, {.step = 0, .prompts = 3, .budget = 24, .min_rollouts = 8, .max_rollouts = 64},
           [](const GroupPlan& g, std::uint32_t s) {
             return g.id.prompt.value == 2 || (g.id.prompt.value == 1 && s < 4);
           });
  EXPECT_EQ(played.training.drawn, 32 + 8 + 8);
  EXPECT_EQ(played.training.trained, 8);
}

TEST(Xrpo, HalfPromptsGetMoreThanSettledOnesAndTheTotalIsExact) {
  // s = 0.577 for 2 of 4: h(4) - h(5) = 3.182 * 0.577 / 2 - 2.776 * 0.577 / sqrt(5) = 0.919 -
  // 0.717.
  const double s = std::sqrt(1.0 / 3);
  EXPECT_NEAR(half_width(4, s) - half_width(5, s), 0.202, 1e-3);
  EXPECT_NEAR(half_width(32, 1) * std::sqrt(32.0), 2.0395, 1e-4);  // t(0.975, 31), from a table
  const auto policy = make_scheduler({"xrpo"}, {}, prompt_table(3, 1), 1);
  const auto played =
      play(*policy, {.step = 0, .prompts = 3, .budget = 24, .min_rollouts = 2, .max_rollouts = 16},
           [](const GroupPlan& g, std::uint32_t i) {
             return g.id.prompt.value == 2 || (g.id.prompt.value == 1 && i % 2 == 0);
           });
  EXPECT_EQ(played.training.drawn, 24);
  EXPECT_GT(played.count(1), played.count(0));
  EXPECT_GT(played.count(1), played.count(2));
  EXPECT_EQ(played.rounds.size(), 3U);  // the pilot and two phases of 6
  for (std::size_t r = 1; r < 3; ++r) {
    std::int64_t phase = 0;
    for (const auto& g : played.rounds[r].groups) phase += g.count;
    EXPECT_EQ(phase, 6);
  }
  ASSERT_FALSE(played.rounds[1].groups.empty());
  EXPECT_TRUE(policy->traits().exact_total);
}

}  // namespace
}  // namespace rollcall::scheduling
