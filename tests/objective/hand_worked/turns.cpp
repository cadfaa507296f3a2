// Hand-worked numbers of the rows that compare turns.
#include "hand_worked.hpp"

namespace rollcall::objective::test {
namespace {

/// One prompt, two conversations of two turns of one token each, all ratios 1, so that a token's
/// derivative is -A / 4 under a mean of tokens.
///   rollout 0: reward 1, half of it for each turn, in the states 1 and 2; its turns are of the
///   kinds 1 and 2, the first was patched, and it raises the probability of the reference answer
///   from 0.1 to 0.4
///   rollout 1: reward 0, in the states 1 and 3, both turns of kind 1; it finds nothing
PlainStep conversations() {
  PlainStep step;
  step.horizon = 10.0;
  for (const double half : {0.5, 0.0}) {
    PlainRollout r;
    r.reward = r.correct = 2 * half, r.gold_before = std::log(0.1);
    for (auto* column : {&r.now, &r.old, &r.rollout, &r.reference})
      column->assign(2, std::log(0.5));
    r.entropy.assign(2, 1.0);
    PlainTurn first, second;
    first.reward = second.reward = half;
    first.state = 1, second.state = half > 0 ? 2 : 3;
    first.kind = 1, second.kind = half > 0 ? 2 : 1;
    first.flags = half > 0 ? turn_flag::patched : 0;
    first.gold = second.gold = std::log(half > 0 ? 0.4 : 0.1);
    r.turns = {first, second};
    step.rollouts.push_back(std::move(r));
  }
  return step;
}

/// Loss and derivative of four tokens with these advantages, each with the coefficient c.
HandWorked of_advantages(const std::vector<double>& a, double c = 0.25) {
  HandWorked worked{0.0, {}, conversations};
  for (const double one : a) worked.loss -= c * one, worked.derivative.push_back(-c * one);
  return worked;
}

}  // namespace

HandWorkedTable worked_turns() {
  const double e = 1e-6, root = std::sqrt(2.0);
  // The z-score of the larger of two numbers x and 0: x / 2 over x / sqrt(2).
  const auto z = [&](double x) { return x / 2 / (x / root + e); };
  // Returns 1, 0.5, 0, 0: mean 3/8, squares (25 + 1 + 9 + 9) / 64 over 3.
  const double whole = std::sqrt(44.0 / 64 / 3) + e;
  // A gain of 0.3, then the outcome 1, and 0, 0: mean 0.325, squares 0.6675 over 3. What the
  // environment paid for the first turn, 0.5, is in the outcome alone.
  const double gains = std::sqrt(0.6675 / 3) + e, g0 = -0.025 / gains, g1 = 0.675 / gains,
               g2 = -0.325 / gains;
  // clang-format off
  return {
      // Returns 1, 0.5 and 0, 0 against the one other of the index: their differences. Sums over tokens, mean over two rollouts.
      {"dr-kernel-trloo", {of_advantages({1.0, 0.5, -1.0, -0.5}, 0.5)}},
      {"mapo-dialogue", {of_advantages({
       0.5 * z(1) + 0.5 * 0.625 / whole, 0.5 * z(0.5) + 0.5 * 0.125 / whole, -0.5 * z(1) - 0.5 * 0.375 / whole, -0.5 * z(0.5) - 0.5 * 0.375 / whole})}},
      // Returns 0.95, 0.5; the outcome's z-score is that of 1 and 0.
      {"matchtir", {of_advantages({(z(1) + z(0.95)) / 2, (z(1) + z(0.5)) / 2, -(z(1) + z(0.95)) / 2, -(z(1) + z(0.5)) / 2})}},
      // Return 0.975 of the shared state: +-0.4875 beside the outcome's +-0.5. States 2 and 3 were seen once.
      {"gigpo", {of_advantages({0.9875, 0.5, -0.9875, -0.5})}},
      {"slea-rl", {of_advantages({0.74375, 0.5, -0.74375, -0.5})}},
      {"hgpo", {of_advantages({z(0.975), 0.0, -z(0.975), 0.0})}},
      // Scores 0.5, 0, 0 of kind 1: mean 1/6. The only turn of kind 2 keeps its 0.5.
      {"rlvmr", {of_advantages({0.5 + 1.0 / 3, 1.0, -0.5 - 1.0 / 6, -0.5 - 1.0 / 6})}},
      // The patched turn returns its own 0.5 alone: +-0.25 at both indices.
      {"ui-s1", {of_advantages({0.75, 0.75, -0.75, -0.75})}},
      {"igpo", {of_advantages({g0 + 0.5 * g1, g1, g2 + 0.5 * g2, g2})}},
      {"a2tgpo", {of_advantages({(z(0.3) + z(1)) / root, z(1), -(z(0.3) + z(1)) / root, -z(1)})}},
  };
  // clang-format on
}

}  // namespace rollcall::objective::test
