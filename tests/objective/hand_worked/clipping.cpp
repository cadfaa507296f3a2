// Hand-worked numbers of the rows that change how the ratio is bounded.
#include "hand_worked/ratio_steps.hpp"

namespace rollcall::objective::test {
namespace {

const double s = 1 / std::sqrt(2.0), a = 0.5 / (s + 1e-6);  // advantages of group_norm: +-a
// Log-probabilities of worked_step(): half times 1.5, 0.9, 1.1.
const double l1 = std::log(0.75), l2 = std::log(0.45), l3 = std::log(0.55);

/// Under the policy that the step starts from, log-probabilities deviate from their mean by 3, -3
/// and 0.
PlainStep covariance_step() {
  PlainStep step = worked_step();
  step.rollouts[0].current = {-0.1, -6.1};
  step.rollouts[1].current = {-3.1};
  return step;
}

HandWorkedTable sequence_rows() {
  const double rho = std::exp(0.2) * std::sqrt(0.9);
  // clang-format off
  return {
      // Ratio of rollout 0: sqrt(1.5 * 0.9) = 1.162, above 1.0004 -> -1.0004a, no derivative; rollout 1: 1.1 with A < 0 is not bounded.
      {"gspo", {(-1.0004 + 1.1) * a / 2, {0.0, 0.0, 1.1 * a / 2}}},
      {"gspo_token", {(-1.0004 + 1.1) * a / 2, {0.0, 0.0, 1.1 * a / 2}}},
      // The same with the wider bound 1.0025, and each rollout times its length: 2 * -1.0025a and 1.1a, over B = 2.
      {"luspo", {(-2 * 1.0025 + 1.1) * a / 2, {0.0, 0.0, 1.1 * a / 2}}},
      // ln 1.5 = 0.405 is held at 0.4; rho_0 = exp((0.4 + ln 0.9) / 2). A token's derivative is its rollout's loss over T and B.
      {"gmpo", {(-rho + 1.1) * a / 2, {0.0, -rho * a / 4, 1.1 * a / 2}}},
      // Halves: token branch -1.2a (bounded), -0.9a, 1.1a; rollout branch -1.0004a (bounded) twice, 1.1a. Rollout 0: -(2.2004 + 1.9004) / 4 a = -1.0252a.
      {"dhpo", {(-1.0252 + 1.1) * a / 2, {0.0, -0.5 * 0.9 * a / 4, 1.1 * a / 2}}},
      // First step's ratios 0.9, 1.2, 0.5, 1.1: prefix minima 1, 0.9, 0.9, 0.5 -> 0.9, 1.08, 0.45, 0.55, none above 1.28. Weights on -A lp, mean over five tokens.
      {"minpro", {(-0.9 * std::log(0.45) - 1.08 * std::log(0.6) - 0.45 * std::log(0.25) - 0.55 * std::log(0.55) + 1.1 * std::log(0.55)) * a / 5,
                  {-0.9 * a / 5, -1.08 * a / 5, -0.45 * a / 5, -0.55 * a / 5, 1.1 * a / 5},
                     [] { return ratio_step({0.9, 1.2, 0.5, 1.1}, {1.1}); }}},
  };
  // clang-format on
}

HandWorkedTable token_rows() {
  const auto gate = [](double tau, double rho) { return 1 / (1 + std::exp(-tau * (rho - 1))); };
  const double g1 = gate(1.0, 1.5), g2 = gate(1.0, 0.9), g3 = gate(1.05, 1.1);
  const double r2 = std::log(0.9), r3 = std::log(1.1);
  // clang-format off
  return {
      // Ratio 4 with A < 0 is above 3: +3a without derivative. Rollout 0 as grpo: -1.05a.
      {"ppo_dual_clip", {(-1.05 + 3.0) * a / 2, {0.0, -0.9 * a / 4, 0.0}, [] { return ratio_step({1.5, 0.9}, {4.0}); }}},
      // f(rho) = 4 / tau / (1 + exp(-tau (rho - 1))), derivative in lp 4 g (1 - g) rho with g the sigmoid.
      {"sapo", {-(4 * g1 + 4 * g2) * a / 4 + 4 / 1.05 * g3 * a / 2,
                   {-4 * g1 * (1 - g1) * 1.5 * a / 4, -4 * g2 * (1 - g2) * 0.9 * a / 4, 4 * g3 * (1 - g3) * 1.1 * a / 2}}},
      // 1.5 is above 1.28: loss and derivative -1.28a; 4 is under the dual clip of 10: (-1.28 - 0.9 + 4) a / 3. The likelihood of the correct rollout's two
      // tokens: -0.1 / 2 each. A third answer was cut off: it is not trained on, and mean and spread are those of the other two.
      {"gppo-klear", {1.82 * a / 3 - 0.05 * std::log(0.75 * 0.45), {-1.28 * a / 3 - 0.05, -0.9 * a / 3 - 0.05, 4.0 * a / 3, 0.0}, [] {
         PlainStep step = ratio_step({1.5, 0.9}, {4.0});
         step.rollouts.push_back(step.rollouts[1]);
         step.rollouts[2].truncated = true;
         step.rollouts[0].correct = 1.0;
         return step;
       }}},
      // 1.5 is above 1.2: -1.2a; 0.5 is below 0.8 with A < 0: 0.5 * 0.8a = 0.4a; both in loss and derivative.
      {"ce_gppo", {(-1.2 - 0.9 + 0.4) * a / 3, {-1.2 * a / 3, -0.9 * a / 3, 0.4 * a / 3}, [] { return ratio_step({1.5, 0.9}, {0.5}); }}},
      // 1.5 is above 1.2: masked. 0.9 weighs 1 / 0.9. The bad token's 4 is above 3: it weighs 3 and keeps that derivative.
      {"aspo", {(-1 / 0.9 + 3.0) * a / 3, {0.0, -a / 0.9 / 3, 3.0 * a / 3}, [] { return ratio_step({1.5, 0.9}, {4.0}); }}},
      // q = 1/2: upper bound (1 + sqrt(1 + 4 * 0.2 / 0.5)) / 2 = (1 + sqrt(2.6)) / 2 = 1.306; the lower one is 1/2, as 4 * 0.16 / 0.5 > 1.
      {"dcpo", {-((1 + std::sqrt(2.6)) / 2 + 0.9) * a / 4 + 1.1 * a / 2, {0.0, -0.9 * a / 4, 1.1 * a / 2}}},
      // ln 4 is held at ln 1.2 (no derivative); the drift's derivative is 0.001 times 2 (of 3), -0.1 and 0.1, its value 0.001 (rho - 1 - ln rho), up to
      // rho = 3, from where it rises by 2 ln(rho / 3).
      {"cpgd", {(-a * std::log(1.2) - a * r2 + a * r3 + 0.001 * (2 - std::log(3.0) + 2 * std::log(4.0 / 3) - 0.1 - r2 + 0.1 - r3)) / 3,
                   {0.002 / 3, (-a - 0.0001) / 3, (a + 0.0001) / 3}, [] { return ratio_step({4.0, 0.9}, {1.1}); }}},
  };
  // clang-format on
}

HandWorkedTable frozen_rows() {
  const double r1 = std::log(1.5), r2 = std::log(0.9), r3 = std::log(1.1);
  // clang-format off
  return {
      // Weights 1.2 (bounded), 0.9, 1.1 on -A lp; mean over three tokens.
      {"cispo", {(-1.2 * l1 - 0.9 * l2 + 1.1 * l3) * a / 3, {-1.2 * a / 3, -0.9 * a / 3, 1.1 * a / 3}}},
      // Ratio 6 weighs 5; log-probabilities ln 3 (the arithmetic does not mind), ln 0.45, ln 0.55.
      {"cispo_upper", {(-5 * std::log(3.0) - 0.9 * l2 + 1.1 * l3) * a / 3, {-5 * a / 3, -0.9 * a / 3, 1.1 * a / 3},
                          [] { return ratio_step({6.0, 0.9}, {1.1}); }}},
      // Good: 12 is held at 11, 0.5 at 0.8; bad: 6 stays. Log-probabilities ln 6, ln 0.25, ln 3.
      {"dispo", {(-11 * std::log(6.0) - 0.8 * std::log(0.25) + 6 * std::log(3.0)) * a / 3, {-11 * a / 3, -0.8 * a / 3, 6 * a / 3},
                    [] { return ratio_step({12.0, 0.5}, {6.0}); }}},
      // A = +-1/2, sums over H B = 20. Now 0.75, 0.45, 0.55, the sampler's 0.5, 0.25, 0.5: +0.25 and +0.2 are beyond 0.15 with A > 0 (from the old 0.5
      // the second has fallen); +0.05 with A < 0 is not pushed on, ratio 1.1.
      {"dppo_tv", {0.55 * l3 / 20, {0.0, 0.0, 0.55 / 20}, [] { return ratio_step({1.5, 0.9}, {1.1}, {1.0, 2.0, 1.0}); }}},
      // The sampler's 0.5, 0.4, 0.5. 0.5 ln(0.5 / 0.75) + 0.5 ln(0.5 / 0.25) = 0.1438 > 0.05: masked. 0.4 ln(0.4 / 0.45) + 0.6 ln(0.6 / 0.55) = 0.0051: kept,
      // with ratio 0.45 / 0.4 = 1.125. The third moved against its push.
      {"dppo_kl", {(-0.5 * 1.125 * l2 + 0.55 * l3) / 20, {0.0, -0.5 * 1.125 / 20, 0.55 / 20}, [] { return ratio_step({1.5, 0.9}, {1.1}, {1.0, 1.25, 1.0}); }}},
      // As dppo_tv with A = +-1/2, and 0.001 (ln rho)^2 on every token, derivative 0.002 ln rho.
      {"prime_rl", {(-0.45 * l2 + 0.55 * l3 + 0.001 * (r1 * r1 + r2 * r2 + r3 * r3)) / 3,
                       {0.002 * r1 / 3, (-0.45 + 0.002 * r2) / 3, (0.55 + 0.002 * r3) / 3}}},
      // A deviates from its mean a/3 by 2a/3, 2a/3, -4a/3: covariances 2a = 1.414, -2a and 0. The first alone is between 1 and 5: taken out.
      {"clip_cov", {(-0.9 + 1.1) * a / 3, {0.0, -0.9 * a / 3, 1.1 * a / 3}, covariance_step}},
      // The first is the largest: it pays |ln 1.5|, derivative 1. No clip: -1.5a.
      {"kl_cov", {((-1.5 - 0.9 + 1.1) * a + r1) / 3, {(-1.5 * a + 1) / 3, -0.9 * a / 3, 1.1 * a / 3}, covariance_step}},
  };
  // clang-format on
}

}  // namespace

HandWorkedTable worked_clipping() {
  HandWorkedTable table = sequence_rows();
  table.merge(token_rows());
  table.merge(frozen_rows());
  return table;
}

}  // namespace rollcall::objective::test
