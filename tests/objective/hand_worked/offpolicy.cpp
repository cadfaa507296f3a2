// Hand-worked numbers of the rows made for rollouts of older policies, and of those with a term
// that keeps the policy near.
#include "hand_worked/ratio_steps.hpp"

namespace rollcall::objective::test {
namespace {

const double s = 1 / std::sqrt(2.0), a = 0.5 / (s + 1e-6);  // advantages of group_norm: +-a
// worked_step(): log-probabilities and log-ratios.
const double l1 = std::log(0.75), l2 = std::log(0.45), l3 = std::log(0.55);
const double r1 = std::log(1.5), r2 = std::log(0.9), r3 = std::log(1.1);

/// -A lp with A = +-1/2, plus c (ln rho)^2, mean over three tokens.
HandWorked with_square(double c) {
  return {(-0.5 * (l1 + l2) + 0.5 * l3 + c * (r1 * r1 + r2 * r2 + r3 * r3)) / 3,
          {(-0.5 + 2 * c * r1) / 3, (-0.5 + 2 * c * r2) / 3, (0.5 + 2 * c * r3) / 3}};
}

PlainStep with_a_correct_rollout() {
  PlainStep step = worked_step();
  step.rollouts[0].correct = 1.0;
  return step;
}

PlainStep late() {
  PlainStep step = with_a_correct_rollout();
  step.progress = 1.0;
  return step;
}

HandWorkedTable regularised_rows() {
  const double z = 0.5 - (r1 + r2 - r3) / 2;
  // clang-format off
  return {
      // Forward KL: -(A + 0.05) lp, coefficients 0.55, 0.55 and -0.45.
      {"asymre", {(-0.55 * (l1 + l2) + 0.45 * l3) / 3, {-0.55 / 3, -0.55 / 3, 0.45 / 3}}},
      {"opmd", {with_square(0.1)}},
      // A = +-1/2, centred log-ratios +-half the gap: residuals +-z, half their mean square; derivative -z/2 in each token of the first.
      {"dro", {0.5 * z * z, {-z / 2, -z / 2, z / 2}}},
      // Late in training the right answer, the longer of two, has length reward 1/2 (1/2 - 1), the wrong one min(0, 1/2) = 0: rewards 3/4 and 0, A = +-3/8.
      // Residuals A - 0.1 q with q of the whole rollout: 5 (3/8 - 0.1 ln 1.35)^2 and 5 (-3/8 - 0.1 ln 1.1)^2, mean of two: up to a constant
      // -A q + 0.05 q^2. Derivatives (-A + 0.1 q) / 2.
      {"kimi15", {
       2.5 * (std::pow(0.375 - 0.1 * (r1 + r2), 2) + std::pow(0.375 + 0.1 * r3, 2)),
        {-0.1875 + 0.05 * (r1 + r2), -0.1875 + 0.05 * (r1 + r2), 0.1875 + 0.05 * r3}, late}},
      // grpo: 0.025a. Old and reference agree, so the divergence is 0.04 (1 / r - 1 + ln r) whatever the mix, with derivative 0.04 (1 - 1 / r).
      {"remix-squeeze", {
       0.025 * a + 0.04 * ((1 / 1.5 - 1 + r1) / 4 + (1 / 0.9 - 1 + r2) / 4 + (1 / 1.1 - 1 + r3) / 2),
        {0.04 * (1 - 1 / 1.5) / 4, -0.9 * a / 4 + 0.04 * (1 - 1 / 0.9) / 4, 1.1 * a / 2 + 0.04 * (1 - 1 / 1.1) / 2}}},
      // dapo: -0.36a. 0.1 times the mean of -lp over two correct tokens: -0.05 (l1 + l2), derivative -0.05 each.
      {"vapo_nll", {-0.36 * a - 0.05 * (l1 + l2), {-0.05, -0.3 * a - 0.05, 1.1 * a / 3}, with_a_correct_rollout}},
  };
  // clang-format on
}

HandWorkedTable weighted_rows() {
  // Rollout weights 6 and 0.6; norms of the scores 2 * (1 - 1 + 1/4) = 1/2 and 1/4; b = 36 * 0.5 *
  // 1 / (36 * 0.5 + 0.36 * 0.25) = 18 / 18.09.
  const double b = 18 / 18.09;
  // Product 1.35 with A > 0: 1.35^2 exp(3 (1 - 1.35)); 1.1 with A < 0: 1.1^3 exp(2 (1 - 1.1)).
  const double p0 = 1.8225 * std::exp(-1.05), p1 = 1.331 * std::exp(-0.2);
  // clang-format off
  return {
      // A = 1 - 1/2 and 0 - 1/2. Good weighs 1, bad 0.5; sums over B = 2. Log-probabilities ln 0.75, ln 0.45, ln 0.25.
      {"topr", {(-0.5 * (l1 + l2) + 0.25 * std::log(0.25)) / 2, {-0.25, -0.25, 0.125}, [] { return ratio_step({1.5, 0.9}, {0.5}); }}},
      // 1.5 is above 1.2 with A > 0: masked. 0.9 and 1.1 push with A.
      {"rec-offpolicy-reinforce", {(-0.5 * l2 + 0.5 * l3) / 3, {0.0, -0.5 / 3, 0.5 / 3}}},
      // 1.5: outside both. 0.3 <= 0.4 with A > 0 and 3.5 >= 3 with A < 0: in the ring. Log-probabilities ln 0.15 and ln 1.75.
      {"rec_ring", {(-0.5 * std::log(0.15) + 0.5 * std::log(1.75)) / 3, {0.0, -0.5 / 3, 0.5 / 3}, [] { return ratio_step({1.5, 0.3}, {3.5}); }}},
      // 1.5 is above 1.27: masked; weights 0.9 and 1.1 on -A lp, sums over B = 2.
      {"minirl-routing-replay", {(-0.45 * l2 + 0.55 * l3) / 2, {0.0, -0.225, 0.275}}},
      // Spread with n: 1/2. A = 2 (1 - b) and -2 b, weights 6 (below 8) and 0.6, means over 2 and 1 tokens, then over B = 2.
      {"vcpo", {
       (-6 * (1 - b) * (l1 + l2) + 1.2 * b * l3) / 2, {-3 * (1 - b), -3 * (1 - b), 0.6 * b}, [] { return ratio_step({1.5, 0.9}, {1.1}, {6.0, 1.0, 0.6}); }}},
      // Weights min(1.5, 1), 0.9, min(1.1, 1).
      {"tis_loss", {((-l1 - 0.9 * l2) / 4 + l3 / 2) * a, {-a / 4, -0.9 * a / 4, a / 2}}},
      {"vespo", {(-p0 * (l1 + l2) + p1 * l3) * a / 3, {-p0 * a / 3, -p0 * a / 3, p1 * a / 3}}},
  };
  // clang-format on
}

}  // namespace

HandWorkedTable worked_offpolicy() {
  HandWorkedTable table = regularised_rows();
  table.merge(weighted_rows());
  return table;
}

}  // namespace rollcall::objective::test
