// DAPO, DLER and BroRL: groups whose rewards do not differ are replaced or dropped.
#include "scheduling/works_when/small_run.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rollcall::scheduling {
namespace {

// even prompts are always right
const auto kHalfDead = [](const GroupPlan& g, std::uint32_t s) {
  return g.id.prompt.value % 2 == 0 || s % 2 == 0;
};

TEST(Dapo, RefillsTheStepWithInformativeGroups) {
  const auto policy = make_scheduler({"dapo"}, {}, prompt_table(400, 1), 1);
  for (std::uint64_t step = 0; step < 10; ++step) {
    const StepRequest request = {
        .step = step, .prompts = 16, .budget = 64, .min_rollouts = 4, .max_rollouts = 4};
    const auto played = play(*policy, request, kHalfDead);
    std::set<std::uint64_t> prompts;
    std::int64_t useful = 0;
    for (const auto& g : played.reports) {
      EXPECT_TRUE(prompts.insert(g.id.prompt.value).second);
      useful += g.id.prompt.value % 2;
    }
    EXPECT_EQ(useful, 16);
    EXPECT_EQ(played.training.trained, 64);
    EXPECT_EQ(played.training.drawn, 4 * std::int64_t(prompts.size()));
    EXPECT_LE(played.training.drawn, policy->hard_cap(request));
    // Each round asks for exactly what is missing.
    std::int64_t missing = 16;
    for (const auto& round : played.rounds) {
      EXPECT_EQ(std::int64_t(round.groups.size()), missing);
      for (const auto& g : round.groups) missing -= std::int64_t(g.id.prompt.value % 2);
    }
    EXPECT_EQ(missing, 0);
  }
  EXPECT_FALSE(policy->traits().exact_total);
}

TEST(Dapo, StopsAtItsCapAndWhereNoPromptIsLeft) {
  const auto capped = make_scheduler({"dapo"}, {{"refill_rounds", "3"}}, prompt_table(400, 1), 1);
  const StepRequest request = {
      .step = 0, .prompts = 8, .budget = 32, .min_rollouts = 4, .max_rollouts = 4};
  const auto dead = [](const GroupPlan&, std::uint32_t) { return true; };
  EXPECT_EQ(capped->hard_cap(request), 96);
  const auto played = play(*capped, request, dead);
  EXPECT_EQ(played.training.drawn, 96);
  EXPECT_EQ(played.training.trained, 0);  // nothing teaches, so nothing trains
  const auto small = make_scheduler({"dapo"}, {}, prompt_table(10, 1), 1);
  EXPECT_EQ(play(*small, request, dead).training.drawn, 40);  // ten prompts, four rollouts each
}

TEST(Dler, TheGroupThatIsAllRightIsReplaced) {
  // Two prompts with rewards (1, 0) and (1, 1): the second gives way to a new one.
  const auto policy = make_scheduler({"dler"}, {}, prompt_table(3, 1), 1);
  const auto first = policy->begin_step(
      {.step = 0, .prompts = 2, .budget = 4, .min_rollouts = 2, .max_rollouts = 2});
  const auto kept = first.groups[0].id, lost = first.groups[1].id;
  std::vector<GroupReport> reports = {group(kept.prompt.value, 1, 2),
                                      group(lost.prompt.value, 2, 2)};
  std::sort(reports.begin(), reports.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  const StepRequest request = {
      .step = 0, .prompts = 2, .budget = 4, .min_rollouts = 2, .max_rollouts = 2};
  const auto second = policy->next_round(request, reports);
  ASSERT_EQ(second.groups.size(), 1U);
  EXPECT_NE(second.groups[0].id.prompt, kept.prompt);
  EXPECT_NE(second.groups[0].id.prompt, lost.prompt);
  reports.push_back(group(second.groups[0].id.prompt.value, 1, 2));
  EXPECT_TRUE(policy->next_round(request, {reports.back()}).groups.empty());
  std::sort(reports.begin(), reports.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  const auto training = policy->settle(request, reports);
  EXPECT_EQ(training.trained, 4);
  ASSERT_EQ(training.groups.size(), 1U);
  EXPECT_EQ(training.groups[0].id, lost);
}

/// For a loss that learns from prompts without a success, as NGRPO's does.
TEST(Dapo, GroupsWithoutASuccessMayStay) {
  const auto policy = make_scheduler({"dapo"}, {{"left_out", "solved"}}, prompt_table(3, 1), 1);
  const StepRequest request = {
      .step = 0, .prompts = 2, .budget = 4, .min_rollouts = 2, .max_rollouts = 2};
  const auto first = policy->begin_step(request);
  const auto unsolved = first.groups[0].id, solved = first.groups[1].id;
  std::vector<GroupReport> reports = {group(unsolved.prompt.value, 0, 2),
                                      group(solved.prompt.value, 2, 2)};
  std::sort(reports.begin(), reports.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  const auto second = policy->next_round(request, reports);
  ASSERT_EQ(second.groups.size(), 1U) << "in the place of the solved one alone";
  reports.push_back(group(second.groups[0].id.prompt.value, 0, 2));
  EXPECT_TRUE(policy->next_round(request, {reports.back()}).groups.empty());
  std::sort(reports.begin(), reports.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  const auto training = policy->settle(request, reports);
  ASSERT_EQ(training.groups.size(), 1U);
  EXPECT_EQ(training.groups[0].id, solved);
}

TEST(Brorl, OnePromptWithHundredsOfRolloutsAndFewerDeadGroups) {
  const auto policy = make_scheduler({"brorl"}, {}, prompt_table(8, 1), 1);
  const StepRequest wide = {
      .step = 0, .prompts = 1, .budget = 512, .min_rollouts = 1, .max_rollouts = 512};
  EXPECT_EQ(play(*policy, wide, at_rates([](std::uint64_t) { return 0.1; })).training.trained, 512);
  const auto rate = [](std::uint64_t) { return 0.03; };
  std::vector<double> dead;
  for (const std::int64_t n : {16, 64, 256}) {
    dead.push_back(dead_share(
        *make_scheduler({"brorl"}, {}, prompt_table(64, 1), 1),
        {.step = 0, .prompts = 16, .budget = 16 * n, .min_rollouts = 1, .max_rollouts = n}, 0, 10,
        rate));
  }
  // 0.97^16 = 0.61, 0.97^64 = 0.14, 0.97^256 = 0.0004.
  EXPECT_NEAR(dead[0], 0.61, 0.12);
  EXPECT_NEAR(dead[1], 0.14, 0.09);
  EXPECT_NEAR(dead[2], 0.0, 0.02);
}

}  // namespace
}  // namespace rollcall::scheduling
