// What comes back may be less than was drawn, nothing at all, or equal in every digit: a policy
// then
// keeps its cap, asks for other prompts and takes nobody for hopeless.
#include "base/errors/error.hpp"
#include "scheduling/prompts/outcomes.hpp"
#include "scheduling/sampler/uniform.hpp"
#include "scheduling/schedulers.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace rollcall::scheduling {
namespace {

constexpr StepRequest kRequest{
    .step = 1, .prompts = 6, .budget = 48, .min_rollouts = 2, .max_rollouts = 16};

GroupReport with_rewards(const GroupPlan& plan, double reward) {
  GroupReport r = no_results(plan.id, plan.level);
  r.rewards.assign(plan.count, reward), r.correct.assign(plan.count, reward > 0.5),
      r.lengths.assign(plan.count, 1);
  return r;
}

/// All rounds of a step whose even prompts never report. Returns what was drawn of each group.
std::map<GroupId, std::int64_t> play_with_silent_prompts(Scheduler& policy,
                                                         const StepRequest& request) {
  std::map<GroupId, std::int64_t> drawn;
  Decision round = policy.begin_step(request);
  for (;;) {
    std::vector<GroupReport> reports;
    for (const GroupPlan& plan : round.groups) {
      drawn[plan.id] += plan.count;
      if (plan.id.prompt.value % 2 == 1) reports.push_back(outcome(plan));
    }
    if (round.last_round) break;
    std::sort(reports.begin(), reports.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    round = policy.next_round(request, reports);
  }
  return drawn;
}

TEST(Corners, APromptThatDoesNotReportIsNotDrawnAgain) {
  for (const auto& row : {"dapo", "dler", "brorl", "greso"}) {
    const auto policy = make_scheduler({row}, {}, prompt_table(60), 5);
    for (const auto& [id, count] : play_with_silent_prompts(*policy, kRequest)) {
      EXPECT_EQ(id.draw, 0U) << row << " draws prompt " << id.prompt.value << " again";
      EXPECT_EQ(count, 8) << row;
    }
  }
}

TEST(Corners, NobodyReportsAndNoPolicyExceedsItsCap) {
  for (const auto& row : policy_names()) {
    PromptTable table = prompt_table(60);
    table.domain.assign(60, 0), table.prior.assign(60, 0.5F);
    const auto policy = make_scheduler({row}, {}, table, 5);
    std::int64_t drawn = 0;
    Decision round = policy->begin_step(kRequest);
    for (int rounds = 0; rounds < 20; ++rounds) {
      for (const GroupPlan& plan : round.groups) drawn += plan.count;
      if (round.last_round) break;
      round = policy->next_round(kRequest, {});
    }
    EXPECT_LE(drawn, policy->hard_cap(kRequest)) << row;
    EXPECT_NO_THROW(policy->settle(kRequest, {})) << row;
    EXPECT_NO_THROW(policy->end_step({})) << row;
  }
}

TEST(Corners, OneSilentPromptDoesNotTakeTheBudget) {
  const auto policy = make_scheduler({"xrpo"}, {}, prompt_table(6), 5);
  std::map<PromptId, std::int64_t> drawn;
  Decision round = policy->begin_step(kRequest);
  for (;;) {
    std::vector<GroupReport> reports;
    for (const GroupPlan& plan : round.groups) {
      drawn[plan.id.prompt] += plan.count;
      if (plan.id.prompt.value != 0) reports.push_back(outcome(plan));
    }
    if (round.last_round) break;
    round = policy->next_round(kRequest, reports);
  }
  std::int64_t all = 0;
  for (const auto& [prompt, count] : drawn) {
    EXPECT_LE(count, kRequest.max_rollouts);
    all += count;
  }
  EXPECT_EQ(all, kRequest.budget);
}

TEST(Corners, RewardsThatRoundingPartsDoNotDiffer) {
  const std::vector<double> equal{0.6, 0.6000000000000001, 0.6, 0.6};
  EXPECT_FALSE(differ(equal));
  EXPECT_EQ(standardised(equal), std::vector<double>(4));
  const std::vector<double> apart{0.6, 0.6001};
  EXPECT_TRUE(differ(apart));
  EXPECT_FALSE(differ(std::vector<double>{}));
  EXPECT_FALSE(differ(std::vector<double>{0.0, 1e-17}));
  EXPECT_EQ(standardised({0.1, 0.4, 0.7})[1], 0.0);  // the rounded mean of the three is below 0.4
}

TEST(Corners, DThreeSLeavesAGroupThatOnlyRoundingPartsForLast) {
  const auto policy =
      make_scheduler({"d3s"}, {{"share_start", "0.5"}, {"share_final", "0.5"}}, prompt_table(4), 1);
  const StepRequest request{
      .step = 1, .prompts = 2, .budget = 8, .min_rollouts = 4, .max_rollouts = 4};
  std::vector<GroupReport> reports;
  for (const GroupPlan& plan : policy->begin_step(request).groups)
    reports.push_back(with_rewards(plan, 0.6));
  reports[0].rewards[1] = 0.6000000000000001;
  reports[1].rewards = {0.0, 1.0, 0.0, 1.0};
  for (const GroupTraining& group : policy->settle(request, reports).groups) {
    const bool dead = group.id == reports[0].id;
    EXPECT_EQ(std::count(group.keep.begin(), group.keep.end(), 1), dead ? 0 : 4);
  }
}

TEST(Corners, EqualFractionsDoNotDiffer) {
  const std::vector<double> equal(7, 0.1);
  EXPECT_FALSE(differ(equal));
  EXPECT_EQ(standardised(equal), std::vector<double>(7));  // their rounded mean is not 0.1
  const auto policy =
      make_scheduler({"d3s"}, {{"share_start", "0.5"}, {"share_final", "0.5"}}, prompt_table(4), 1);
  const StepRequest request{
      .step = 1, .prompts = 2, .budget = 14, .min_rollouts = 7, .max_rollouts = 7};
  std::vector<GroupReport> reports;
  for (const GroupPlan& plan : policy->begin_step(request).groups) {
    reports.push_back(with_rewards(plan, 0.1));
    if (reports.size() == 2) reports.back().rewards[3] = 1.0;
  }
  std::sort(reports.begin(), reports.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  for (const GroupTraining& group : policy->settle(request, reports).groups) {
    const auto kept = std::count(group.keep.begin(), group.keep.end(), std::uint8_t{1});
    const auto& report = *std::find_if(reports.begin(), reports.end(),
                                       [&](const auto& r) { return r.id == group.id; });
    EXPECT_EQ(kept, informative(report) ? 7 : 0);
  }
}

TEST(Corners, UndecidedIsNotWrong) {
  for (const auto& row : {"dars_et", "dars_hw"}) {
    const auto policy = make_scheduler({row}, {}, prompt_table(8), 1);
    const Decision first = policy->begin_step(kRequest);
    std::vector<GroupReport> reports;
    for (const GroupPlan& plan : first.groups) {
      reports.push_back(no_results(plan.id, plan.level));
      reports.back().dropped = plan.count;
    }
    std::sort(reports.begin(), reports.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    EXPECT_TRUE(policy->next_round(kRequest, reports).groups.empty()) << row;
  }
}

TEST(Corners, RewardsThatNoSquareHoldsAreRefused) {
  for (const auto& row : {"xrpo", "dapo", "rollout_gdro"}) {
    const auto policy = make_scheduler({row}, {}, prompt_table(8), 1);
    std::vector<GroupReport> reports;
    for (const GroupPlan& plan : policy->begin_step(kRequest).groups)
      reports.push_back(with_rewards(plan, 1e155));
    EXPECT_THROW(policy->settle(kRequest, reports), NumericsError) << row;
  }
}

TEST(Corners, HugeAdvantagesLeaveChancesFinite) {
  const auto policy = make_scheduler({"sec"}, {}, prompt_table(40), 1);
  for (std::uint64_t step = 1; step <= 5; ++step) {
    StepRequest request = kRequest;
    request.step = step;
    const Decision decision = policy->begin_step(request);
    for (const double chance : decision.probability)
      EXPECT_TRUE(chance > 0 && chance <= 1) << chance;
    std::vector<GroupReport> reports;
    for (const GroupPlan& plan : decision.groups) {
      reports.push_back(outcome(plan));
      reports.back().mean_abs_advantage = 1e308;
    }
    std::sort(reports.begin(), reports.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    policy->settle(request, reports);
    policy->end_step(reports);
    for (const auto& [name, value] : policy->metrics()) EXPECT_TRUE(std::isfinite(value)) << name;
  }
}

TEST(Corners, CandidatesHaveTheirTurnOnceAnEpoch) {
  UniformSampler sampler(100, 3);
  StepRequest request{.step = 1, .prompts = 4, .budget = 8};
  for (std::uint64_t p = 0; p < 10; ++p) request.candidates.push_back({3 * p});
  std::map<std::uint64_t, int> times;
  for (int step = 1; step <= 15; ++step) {
    request.step = std::uint64_t(step);
    std::set<std::uint64_t> of_step;
    for (const PromptDraw& draw : sampler.choose(request, {}))
      ++times[draw.prompt.value], of_step.insert(draw.prompt.value);
    EXPECT_EQ(of_step.size(), 4U);  // never twice in a step, where an epoch ends in it too
    UniformSampler resumed(100, 3);
    resumed.load(sampler.save());
    UniformSampler copy = sampler;
    EXPECT_EQ(resumed.choose(request, {}).front().prompt, copy.choose(request, {}).front().prompt);
  }
  EXPECT_EQ(times.size(), 10U);
  for (const auto& [prompt, count] : times) EXPECT_EQ(count, 6) << prompt;
}

TEST(Corners, MakeUpSaysHowManyRolloutsItWants) {
  const StepRequest room{
      .step = 1, .prompts = 4, .budget = 32, .min_rollouts = 2, .max_rollouts = 32};
  EXPECT_TRUE(make_scheduler({"dars_hw"}, {}, prompt_table(4), 1)->shortage(room).has_value());
  EXPECT_FALSE(make_scheduler({"dars_et"}, {{"depth_limit", "12"}}, prompt_table(4), 1)
                   ->shortage(room)
                   .has_value());
  EXPECT_FALSE(make_scheduler({"uniform"}, {}, prompt_table(4), 1)->shortage(room).has_value());
}

}  // namespace
}  // namespace rollcall::scheduling
