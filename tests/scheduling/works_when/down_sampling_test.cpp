// PODS, D3S and ARRoL: which of the drawn rollouts train.
#include "scheduling/composed.hpp"
#include "scheduling/outcomes.hpp"
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
    const auto values =
        *rc::gen::container<std::vector<double>>(std::size_t(*rc::gen::inRange(1, 11)), rc::gen::map(rc::gen::inRange(-20, 21), [](int v) { return v / 4.0; }));
    const auto keep = std::size_t(*rc::gen::inRange<std::size_t>(1, values.size() + 1));
    const auto chosen = widest_subset(values, keep);
    RC_ASSERT(std::size_t(std::accumulate(chosen.begin(), chosen.end(), 0)) == keep);
    const double own = variance(values, [&](std::size_t i) { return chosen[i] == 1; });
    for (std::uint32_t mask = 0; mask < 1U << values.size(); ++mask) {
      if (std::size_t(std::popcount(mask)) == keep) RC_ASSERT(own >= variance(values, [&](std::size_t i) { return (mask >> i & 1) == 1; }) - 1e-9);
    }
  }));
}

TEST(Pods, AQuarterOfEachGroupHalfOfItRight) {
  const auto policy = make_policy({"pods"}, {}, prompt_table(4, 1), 1);
  const auto played = play(*policy, {.step = 0, .prompts = 2, .budget = 32, .min_rollouts = 16, .max_rollouts = 16},
                           [](const GroupPlan&, std::uint32_t s) { return s % 3 == 0; });
  EXPECT_EQ(played.training.drawn, 32);
  EXPECT_EQ(played.training.trained, 8);
  for (std::size_t g = 0; g < 2; ++g) {
    double right = 0;
    for (std::size_t i = 0; i < 16; ++i) right += played.training.groups[g].keep[i] != 0 && played.reports[g].correct[i] != 0;
    EXPECT_EQ(right, 2);  // two of four: the largest variance of 0/1 rewards
  }
}

TEST(D3s, TheExtremesOfThePaper) {
  EXPECT_EQ(widest_subset({-1.5, -0.5, 0, 0.5, 1.5}, 2), (std::vector<std::uint8_t>{1, 0, 0, 0, 1}));
  EXPECT_DOUBLE_EQ(variance({-1.5, 1.5}, [](std::size_t) { return true; }), 2.25);
}

TEST(D3s, CutsAcrossGroupsAndFollowsTheSchedule) {
  const auto policy = make_policy({"d3s"}, {}, prompt_table(3, 1), 1);
  StepRequest request = {.step = 0, .prompts = 3, .budget = 24, .min_rollouts = 8, .max_rollouts = 8};
  // 1 of 8 right: advantages 2.47 and -0.35; 4 of 8: +-0.94; none right: zero. At the start 6 of 24 train: 2.47 and the extremes of the half-solved group.
  const std::vector<GroupReport> reports = {group(0, 1, 8), group(1, 4, 8), group(2, 0, 8)};
  const auto early = policy->settle(request, reports);
  EXPECT_EQ(early.trained, 6);
  std::map<std::uint64_t, int> kept;
  for (const auto& g : early.groups) kept[g.id.prompt.value] = std::accumulate(g.keep.begin(), g.keep.end(), 0);
  EXPECT_EQ(kept.at(2), 0);
  EXPECT_EQ(early.groups[0].keep[0], 1);  // the one rare success
  request.progress = 0.5;
  EXPECT_EQ(policy->settle(request, reports).trained, 9);  // half way between a quarter and a half
}

TEST(D3s, ZeroAdvantagesLeaveFirstAndOnlyBeyondTheShare) {
  const StepRequest request = {.step = 0, .prompts = 3, .budget = 24, .min_rollouts = 8, .max_rollouts = 8};
  const std::vector<GroupReport> reports = {group(0, 1, 8), group(1, 4, 8), group(2, 0, 8)};
  const auto trained = [&](const char* share, const std::vector<GroupReport>& told) {
    return make_policy({"d3s"}, {{"share_start", share}, {"share_final", share}}, prompt_table(3, 1), 1)->settle(request, told);
  };
  EXPECT_EQ(trained("1", reports).trained, 24);  // N = all is GRPO: a dead group stays in the denominators
  const auto most = trained("0.75", reports);    // 18: the 16 with an advantage and two of the dead group
  EXPECT_EQ(most.trained, 18);
  EXPECT_EQ(std::accumulate(most.groups[2].keep.begin(), most.groups[2].keep.end(), 0), 2);
  EXPECT_EQ(trained("0.6", reports).trained, 15);  // ceil(14.4)
  EXPECT_EQ(trained("0.25", {reports[2]}).trained, 2);
}

TEST(Arrol, WithAPerfectHeadHalfOfAGroupStaysNearestToTheTarget) {
  const auto policy = make_policy({"arrol"}, {}, prompt_table(2, 1), 1);
  GroupReport easy = group(0, 9, 10), half = group(1, 5, 10);
  easy.predicted.assign(easy.rewards.begin(), easy.rewards.end());
  half.predicted.assign(half.rewards.begin(), half.rewards.end());
  const auto training = policy->settle({.step = 0, .prompts = 2, .budget = 20}, {easy, half});
  // Half of ten. Nine right ones lose five; five lose two right ones and three wrong ones, by turns from the wrong side on.
  for (const auto& [group, expected] : std::vector<std::pair<std::size_t, int>>{{0, 4}, {1, 3}}) {
    const auto& keep = training.groups[group].keep;
    int right = 0, all = 0;
    for (std::size_t i = 0; i < 10; ++i) all += keep[i], right += keep[i] != 0 && (group == 0 ? easy : half).correct[i] != 0;
    EXPECT_EQ(all, 5);
    EXPECT_EQ(right, expected);
  }
  EXPECT_EQ(training.trained, 10);
}

TEST(Arrol, WithoutPredictionsEverythingTrains) {
  const auto policy = make_policy({"arrol"}, {}, prompt_table(1, 1), 1);
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
