// PODS, D3S and ARRoL: which of the drawn rollouts train.
#include "scheduling/composed.hpp"
#include "scheduling/prompts/outcomes.hpp"
#include "scheduling/selection/spread.hpp"
#include "scheduling/works_when/small_run.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <numeric>

namespace rollcall::scheduling {
namespace {

double variance(const std::vector<double>& values, const std::function<bool(std::size_t)>& in) {
  double n = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (in(i)) n += 1, sum += values[i], squares += values[i] * values[i];
  }
  return squares / n - sum * sum / (n * n);
}

TEST(Pods, TheSubsetIsTheWidestOfAll) {
  EXPECT_TRUE(rc::check("no subset of that size has a larger variance", [] {
    const auto values = *rc::gen::container<std::vector<double>>(
        std::size_t(*rc::gen::inRange(1, 11)),
        rc::gen::map(rc::gen::inRange(-20, 21), [](int v) { return v / 4.0; }));
    const auto keep = std::size_t(*rc::gen::inRange<std::size_t>(1, values.size() + 1));
    const auto chosen = widest_subset(values, keep);
    RC_ASSERT(std::size_t(std::accumulate(chosen.begin(), chosen.end(), 0)) == keep);
    const double own = variance(values, [&](std::size_t i) { return chosen[i] == 1; });
    for (std::uint32_t mask = 0; mask < 1U << values.size(); ++mask) {
      if (std::size_t(std::popcount(mask)) == keep)
        RC_ASSERT(own >=
                  variance(values, [&](std::size_t i) { return (mask >> i & 1) == 1; }) - 1e-9);
    }
  }));
}

TEST(Pods, AQuarterOfEachGroupHalfOfItRight) {
  const auto policy = make_scheduler({"pods"}, {}, prompt_table(4, 1), 1);
  const auto played =
      play(*policy, {.step = 0, .prompts = 2, .budget = 32, .min_rollouts = 16, .max_rollouts = 16},
           [](const GroupPlan&, std::uint32_t s) { return s % 3 == 0; });
  EXPECT_EQ(played.training.drawn, 32);
  EXPECT_EQ(played.training.trained, 8);
  for (std::size_t g = 0; g < 2; ++g) {
    double right = 0;
    for (std::size_t i = 0; i < 16; ++i)
      right += played.training.groups[g].keep[i] != 0 && played.reports[g].correct[i] != 0;
    EXPECT_EQ(right, 2);  // two of four: the largest variance of 0/1 rewards
  }
}

TEST(D3s, TheExtremesOfThePaper) {
  EXPECT_EQ(widest_subset({-1.5, -0.5, 0, 0.5, 1.5}, 2),
            (std::vector<std::uint8_t>{1, 0, 0, 0, 1}));
  EXPECT_DOUBLE_EQ(variance({-1.5, 1.5}, [](std::size_t) { return true; }), 2.25);
}

TEST(D3s, CutsAcrossGroupsAndFollowsTheSchedule) {
  const auto policy = make_scheduler({"d3s"}, {}, prompt_table(3, 1), 1);
  StepRequest request = {
      .step = 0, .prompts = 3, .budget = 24, .min_rollouts = 8, .max_rollouts = 8};
  // 1 of 8 right: advantages 2.47 and -0.35; 4 of 8: +-0.94; none right: zero. At the start 6 of 24
  // train: 2.47 and the extremes of the half-solved group.
  const std::vector<GroupReport> reports = {group(0, 1, 8), group(1, 4, 8), group(2, 0, 8)};
  const auto early = policy->settle(request, reports);
  EXPECT_EQ(early.trained, 6);
  std::map<std::uint64_t, int> kept;
  for (const auto& g : early.groups)
    kept[g.id.prompt.value] = std::accumulate(g.keep.begin(), g.keep.end(), 0);
  EXPECT_EQ(kept.at(2), 0);
  EXPECT_EQ(early.groups[0].keep[0], 1);  // the one rare success
  request.progress = 0.5;
  EXPECT_EQ(policy->settle(request, reports).trained, 9);  // half way between a quarter and a half
}

TEST(D3s, ZeroAdvantagesLeaveFirstAndOnlyBeyondTheShare) {
  const StepRequest request = {
      .step = 0, .prompts = 3, .budget = 24, .min_rollouts = 8, .max_rollouts = 8};
  const std::vector<GroupReport> reports = {group(0, 1, 8), group(1, 4, 8), group(2, 0, 8)};
  const auto trained = [&](const char* share, const std::vector<GroupReport>& told) {
    return make_scheduler({"d3s"}, {{"share_start", share}, {"share_final", share}},
                          prompt_table(3, 1), 1)
        ->settle(request, told);
  };
  EXPECT_EQ(trained("1", reports).trained, 24);  // N = all is GRPO: a dead group stays in the
                                                 // denominators
  const auto most = trained("0.75", reports);    // 18: the 16 with an advantage and two of the dead
                                                 // group
  EXPECT_EQ(most.trained, 18);
  EXPECT_EQ(std::accumulate(most.groups[2].keep.begin(), most.groups[2].keep.end(), 0), 2);
  EXPECT_EQ(trained("0.6", reports).trained, 15);  // ceil(14.4)
  EXPECT_EQ(trained("0.25", {reports[2]}).trained, 2);
}

/// Over 400 steps of a group with `easy` right of ten and one with 10 - easy: how many right and
/// wrong rollouts of the first train in a step, and of both.
struct Survivors {
  double right = 0.0, wrong = 0.0, all = 0.0;
};
Survivors survivors(int easy) {
  const auto policy = make_scheduler({"arrol"}, {}, prompt_table(2, 1), 1);
  Survivors mean;
  constexpr int kSteps = 400;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    GroupReport first = group(0, easy, 10), second = group(1, 10 - easy, 10);
    // a perfect head
    for (auto* report : {&first, &second})
      report->predicted.assign(report->correct.begin(), report->correct.end());
    const auto training =
        policy->settle({.step = step, .prompts = 2, .budget = 20}, {first, second});
    for (std::size_t i = 0; i < 10; ++i)
      (first.correct[i] != 0 ? mean.right : mean.wrong) +=
          training.groups[0].keep[i] / double(kSteps);
    mean.all += double(training.trained) / kSteps;
  }
  return mean;
}

TEST(Arrol, RightOnesStayWithAQuarterAndWrongOnesWithThreeQuartersOfAChance) {
  // Half of the step is right: p = 1/2 + 1/2 (1/2 - q), so 1/4 and 3/4, and the mean is 1/2 without
  // a shift. 9 of 10: 2.25 right and 0.75 wrong ones stay.
  const Survivors nine = survivors(9), five = survivors(5);
  EXPECT_NEAR(nine.right, 2.25, 0.25);  // standard error 0.065
  EXPECT_NEAR(nine.wrong, 0.75, 0.1);
  EXPECT_NEAR(five.right, 1.25, 0.2);
  EXPECT_NEAR(five.wrong, 3.75, 0.2);
  EXPECT_NEAR(nine.all, 10.0, 0.4);
}

TEST(Arrol, TheShareIsThatOfTheStepWhateverIsPredicted) {
  // All right: wishes are 1/4, the shift is 1/4, and half of the step stays.
  const auto policy = make_scheduler({"arrol"}, {}, prompt_table(64, 1), 1);
  std::vector<GroupReport> reports;
  for (int p = 0; p < 64; ++p)
    reports.push_back(group(p, 10, 10)), reports.back().predicted.assign(10, 1.0);
  EXPECT_NEAR(double(policy->settle({.step = 3, .prompts = 64, .budget = 640}, reports).trained),
              320.0, 50.0);
}

TEST(Arrol, WithoutPredictionsEverythingTrains) {
  const auto policy = make_scheduler({"arrol"}, {}, prompt_table(1, 1), 1);
  EXPECT_EQ(policy->settle({.step = 0, .prompts = 1, .budget = 10}, {group(0, 9, 10)}).trained, 10);
}

TEST(Arrol, PredictionsOfFragmentsAreJoined) {
  GroupReport a = group(0, 1, 2), b = group(0, 0, 1);
  a.predicted = {0.5, 0.25}, b.predicted = {0.75};
  std::vector<GroupReport> all = {a};
  merge_reports(all, {b});
  EXPECT_EQ(all.at(0).predicted, (std::vector<double>{0.5, 0.25, 0.75}));
}

}  // namespace
}  // namespace rollcall::scheduling
