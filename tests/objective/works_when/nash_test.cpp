// What INPO promises: self-play under a preference that goes in a circle ends where no answer is
// preferred, and the likelihood of pairs does not.
#include "evaluate_step.hpp"

#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

constexpr std::size_t arms = 3;

Column log_softmax(Column z) {
  double sum = 0;
  for (const double x : z) sum += std::exp(x);
  for (double& x : z) x -= std::log(sum);
  return z;
}

double distance_to_uniform(const Column& log_policy) {
  double most = 0;
  for (const double lp : log_policy) most = std::max(most, std::abs(std::exp(lp) - 1.0 / 3));
  return most;
}

/// Pairs of answers of one token: 0 beats 1, 1 beats 2, 2 beats 0. The reference is uniform.
PlainStep circle(const Column& old, const Column& now) {
  PlainStep step;
  step.horizon = 10;
  for (std::size_t pair = 0; pair < arms; ++pair) {
    for (const bool wins : {true, false}) {
      const std::size_t arm = wins ? pair : (pair + 1) % arms;
      PlainRollout r{std::int64_t(pair), double(wins), false, {now[arm]},
                     {old[arm]},         {old[arm]},   {1.0}, {std::log(1.0 / 3)}};
      r.correct = double(wins);
      step.rollouts.push_back(r);
    }
  }
  return step;
}

/// The policy that minimises the expected loss of pairs that the last one samples: gradient descent
/// in its logits.
Column next(const Objective& objective, const Column& old) {
  Column logits = old;
  for (int descent = 0; descent < 40; ++descent) {
    const Column now = log_softmax(logits), d = evaluate(objective, circle(old, now)).derivative;
    Column slope(arms, 0.0);
    for (std::size_t pair = 0; pair < arms; ++pair) {
      const std::size_t loser = (pair + 1) % arms;
      // 3 pairs in a step: its mean gives each a third
      const double chance = 2 * std::exp(old[pair] + old[loser]);
      slope[pair] += 3 * chance * d[2 * pair], slope[loser] += 3 * chance * d[2 * pair + 1];
    }
    for (std::size_t arm = 0; arm < arms; ++arm) logits[arm] -= 0.5 * slope[arm];
  }
  return log_softmax(logits);
}

Column after(int rounds, const Objective& objective) {
  Column policy = {std::log(0.5), std::log(0.3), std::log(0.2)};
  for (int round = 0; round < rounds; ++round) policy = next(objective, policy);
  return policy;
}

TEST(WorksWhen, inpo_ACircularPreferenceEndsAtTheUniformPolicy) {
  const Objective nash("inpo", {}, {{"pair_beta", "1"}});
  EXPECT_LT(distance_to_uniform(after(30, nash)), 1e-3);
  const Objective likelihood("online_dpo", {}, {{"pair_anchor", "old"}, {"pair_beta", "1"}});
  EXPECT_GT(distance_to_uniform(after(30, likelihood)), distance_to_uniform(after(0, likelihood)));
}

TEST(WorksWhen, inpo_WhereAllPoliciesAgreeTheResidualIsTheTarget) {
  const Column uniform(arms, std::log(1.0 / 3));
  EXPECT_NEAR(evaluate(Objective("inpo"), circle(uniform, uniform)).loss,
              std::pow(1 / (2 * 7.5e-3), 2), 1e-9);
}

TEST(WorksWhen, inpo_TheAnchorIsAThirdReferenceAndTwoThirdsTheLastPolicy) {
  // h = (now - old / 3 * 2 - reference / 3) of winner less loser.
  PlainStep step = circle({-1.0, -2.0, -3.0}, {-1.5, -1.0, -2.5});
  step.rollouts.resize(2);
  step.rollouts[0].reference = {-0.7}, step.rollouts[1].reference = {-0.1};
  const double h = (-1.5 + 1.0) - 2.0 / 3 * (-1.0 + 2.0) - 1.0 / 3 * (-0.7 + 0.1);
  EXPECT_NEAR(evaluate(Objective("inpo", {}, {{"pair_beta", "1"}}), step).loss,
              (h - 0.5) * (h - 0.5), 1e-12);
}

}  // namespace
}  // namespace rollcall::objective::test
