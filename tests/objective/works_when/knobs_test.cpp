// Settings that no row's own number shows: each by hand, on a step where the other choice gives
// another number.
#include "hand_worked/ratio_steps.hpp"
#include "objective/advantage/macro_gae.hpp"
#include "objective/advantage/teacher_gap.hpp"
#include "works_when/small_step.hpp"

#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

const double a = 0.5 / (1 / std::sqrt(2.0) + 1e-6);  // advantages of group_norm on rewards 1 and 0:
                                                     // +-a

Result run(const std::string& recipe, const PlainStep& step, const Settings& knobs) {
  return evaluate(Objective(recipe, {}, knobs), step);
}

/// worked_step() as the verifier sees it: rollout 0 is right.
PlainStep labelled() {
  PlainStep step = worked_step();
  step.rollouts[0].correct = 1;
  return step;
}

TEST(Knobs, MaskAnchorRolloutMeasuresFromTheSampler) {
  // Now 0.75 and 0.55, old 0.5, sampler 0.65 and 0.8. From old they moved by 0.25 (beyond 0.15, A >
  // 0: masked) and 0.05; from the sampler by 0.1 and by -0.25 (beyond -0.15, A < 0: masked).
  // Weights stay the ratios to the sampler, A = +-1/2, sums over H B = 20.
  const PlainStep step = ratio_step({1.5}, {1.1}, {0.5 / 0.65, 0.5 / 0.8});
  EXPECT_TRUE(near(run("dppo_tv", step, {{"mask_anchor", "old"}}).derivative,
                   {0.0, 0.5 * 0.55 / 0.8 / 20}));
  EXPECT_TRUE(near(run("dppo_tv", step, {}).derivative, {-0.5 * 0.75 / 0.65 / 20, 0.0}));
}

TEST(Knobs, KlRewardToTokenReachesTheReturnsOfReinforcePlusPlus) {
  // Rewards 1 and 0, old over reference e, e^2 and 1, coefficient 0.1. Returns from the last token:
  // 1 - 0.2 = 0.8, 0.8 - 0.1 = 0.7, and 0.
  // Mean 0.5, spread with N: sqrt((0.2^2 + 0.3^2 + 0.5^2) / 3). On-policy over three tokens the
  // derivative is -A / 3.
  PlainStep step = ratio_step({1.0, 1.0}, {1.0});
  step.rollouts[0].reference = {step.rollouts[0].old[0] - 1, step.rollouts[0].old[1] - 2};
  const Objective row("reinforce_plus_plus", {{"reward", "kl_in_reward"}},
                      {{"kl_reward_to", "token"}, {"kl_reward_coef", "0.1"}});
  const double spread = std::sqrt(0.38 / 3) + 1e-8;
  EXPECT_TRUE(near(evaluate(row, step).derivative,
                   {-0.2 / spread / 3, -0.3 / spread / 3, 0.5 / spread / 3}));
}

TEST(Knobs, ContrastScoreRatioIsTheMeanRatio) {
  // Right: (1.5 + 0.9) / 2 = 1.2; wrong: 1.1, alone, so its log-mean-exp is its score. L = 1.1 -
  // 1.2; a ratio's derivative is the ratio.
  const Result result =
      run("disco", labelled(), {{"contrast_score", "ratio"}, {"contrast_tau", "1"}});
  EXPECT_NEAR(result.loss, -0.1, 1e-12);
  EXPECT_TRUE(near(result.derivative, {-0.75, -0.45, 1.1}));
}

TEST(Knobs, BehaviourScopeMeanIsTheGeometricMean) {
  // Ratios to the sampler 2 and 8: geometric mean 4, product 16; a cap of 5 lets 4 through. Each of
  // two tokens of one of two rollouts: a quarter.
  const PlainStep step = ratio_step({2.0, 2.0}, {1.1}, {1.0, 4.0, 1.0});
  const auto with = [&](const char* scope) {
    return run("bypass_pg_is", step, {{"behaviour_scope", scope}, {"cispo_cap", "5"}}).derivative;
  };
  EXPECT_TRUE(near(with("mean"), {-a, -a, 1.1 * a / 2}));
  EXPECT_TRUE(near(with("product"), {-5 * a / 4, -5 * a / 4, 1.1 * a / 2}));
  EXPECT_TRUE(near(with("token"), {-2 * a / 4, -5 * a / 4, 1.1 * a / 2}));
}

TEST(Knobs, PairAnchorOldIgnoresTheReference) {
  // Log-ratios to the old policy: ln 1.35 and ln 1.1. The reference has probabilities 1/4 for the
  // right answer's two tokens: 2 ln 2 more.
  PlainStep step = worked_step();
  step.rollouts[0].reference = {std::log(0.25), std::log(0.25)};
  const double gap = std::log(1.35 / 1.1);
  EXPECT_NEAR(run("online_dpo", step, {{"pair_anchor", "old"}}).loss,
              std::log1p(std::exp(-0.1 * gap)), 1e-12);
  EXPECT_NEAR(run("online_dpo", step, {}).loss,
              std::log1p(std::exp(-0.1 * (gap + 2 * std::log(2.0)))), 1e-12);
}

TEST(Knobs, MacroPoolLastTakesTheLastToken) {
  // Segments {0, 1} and {2}: values 0.3 and 0.6. Errors 1 - 0.6 = 0.4 and 0.6 - 0.3 = 0.3;
  // advantages 0.3 + 0.95 * 0.4 = 0.68 and 0.4; targets 0.98 and 1. The first token's reward of 0.2
  // is not the segment's; pooled by the mean it would add 0.1, and the value would be 0.2.
  PlainStep plain = answers({{0, 1.0, 3}});
  plain.rollouts[0].old_value = {0.1, 0.3, 0.6};
  Step step(plain.columns());
  step.token_reward = at::tensor(Column{0.2, 0.0, 0.0}, at::kDouble);
  MacroGae piece;
  piece.length = 2, piece.pool = MacroGae::Pool::last;
  EXPECT_TRUE(near(values(piece(step).advantage), {0.68, 0.68, 0.4}));
  EXPECT_TRUE(near(values(piece(step).value_target), {0.98, 0.98, 1.0}));
  piece.pool = MacroGae::Pool::mean;
  EXPECT_TRUE(near(values(piece(step).advantage), {0.88, 0.88, 0.4}));
}

TEST(Knobs, OutcomeCoefAddsTheVerifiersAdvantage) {
  // ln 1.6 + 0.2 + 0.5 (1 - 1/2) and -ln 2 + 0.2 + 0.5 (0 - 1/2).
  PlainStep step = answers({{0, 1.0}, {0, 0.0}});
  step.rollouts[0].teacher = {std::log(0.8)}, step.rollouts[1].teacher = {std::log(0.25)};
  for (auto& r : step.rollouts) r.teacher_kl = {0.2};
  TeacherGap piece;
  piece.outcome = 0.5;
  EXPECT_TRUE(near(advantages_of(piece, step), {std::log(1.6) + 0.45, -std::log(2.0) - 0.05}));
}

TEST(Knobs, ExpertWeightOneAndProbability) {
  // Step 100 of a warm-up of 200: mu = 0.25. An expert's two tokens, p = 0.5 and 0.9, each over 2;
  // own: 0.75 of (-1.2 - 0.9 + 1.1) a / 3.
  PlainStep step = worked_step();
  step.index = 100;
  step.rollouts.push_back(step.rollouts[0]);
  step.rollouts[2].now = {std::log(0.5), std::log(0.9)}, step.rollouts[2].expert = 1;
  const auto check = [&](const char* weight, double first, double second) {
    const Result result = run("chord", step, {{"expert_weight", weight}});
    EXPECT_NEAR(result.loss, -0.25 * a - 0.125 * (first * std::log(0.5) + second * std::log(0.9)),
                1e-12)
        << weight;
    EXPECT_TRUE(
        near({result.derivative[3], result.derivative[4]}, {-0.125 * first, -0.125 * second}))
        << weight;
  };
  check("one", 1.0, 1.0);
  check("probability", 0.5, 0.9);
  check("uncertainty", 0.25, 0.09);
}

}  // namespace
}  // namespace rollcall::objective::test
