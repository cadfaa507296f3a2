// Hand-worked numbers of the rows that look at a group's answers, at outliers, or at what the
// scheduler lets train.
#include "hand_worked/ratio_steps.hpp"

namespace rollcall::objective::test {
namespace {

/// Rollout `i` of a step of one prompt: one token of old probability 1/2, `log_ratio` away from it.
PlainRollout one_token(double reward, double log_ratio) {
  PlainRollout r = worked_step().rollouts[1];
  r.reward = reward, r.now = {std::log(0.5) + log_ratio};
  return r;
}

/// One success and ten failures at ratio 1, and a failure that the policy has made e^50 times as
/// likely.
PlainStep outlying() {
  PlainStep step = worked_step();
  step.rollouts = {one_token(1.0, 0.0)};
  for (int i = 0; i < 10; ++i) step.rollouts.push_back(one_token(0.0, 0.0));
  step.rollouts.push_back(one_token(0.0, 50.0));
  return step;
}

/// worked_step() with another answer of the first rollout's, at ratio 1; the verifier knows
/// nothing.
PlainStep voted() {
  PlainStep step = worked_step();
  step.rollouts[1].answer = 1;
  step.rollouts.push_back(one_token(0.0, 0.0));
  for (auto& r : step.rollouts) r.reward = 0.0;
  return step;
}

PlainStep disagreeing() {
  PlainStep step = worked_step();
  step.rollouts[1].answer = 1;
  return step;
}

/// worked_step() with a second failure like the first.
PlainStep surplus() {
  PlainStep step = worked_step();
  step.rollouts.push_back(step.rollouts[1]);
  for (std::size_t i = 0; i < 3; ++i) step.rollouts[i].key = std::int64_t(i);
  return step;
}

/// worked_step() trains; two more successes were drawn.
PlainStep chosen() {
  PlainStep step = worked_step();
  for (int i = 0; i < 2; ++i) step.rollouts.push_back(one_token(1.0, 0.0));
  step.trains = {1, 1, 0, 0};
  return step;
}

/// Entropies 0.7, 1 and 1.3 after steps of mean entropy 1.
PlainStep with_history() {
  PlainStep step = worked_step();
  step.rollouts[0].entropy = {0.7, 1.0}, step.rollouts[1].entropy = {1.3};
  step.statistics = {{"entropy_history", 1.0}, {"entropy_steps", 4.0}};
  return step;
}

double k3(double ratio) { return 1 / ratio - 1 + std::log(ratio); }

}  // namespace

HandWorkedTable worked_shares() {
  const double s = 1 / std::sqrt(2.0), a = 0.5 / (s + 1e-6), b = 0.5 / (s + 1e-4),
               w = std::exp(-0.2);
  // Twelve tokens, one reward of 1: mean 1/12, spread sqrt(11)/12. The success lies sqrt(11) = 3.32
  // spreads above: out. The failures lie 1/12 below.
  const double bad = 1.0 / 12 / (std::sqrt(11.0) / 12 + 1e-8);
  std::vector<double> pushed(12, bad / 12);
  pushed.front() = 0.0, pushed.back() = 0.0;  // beyond the bound of the log-ratio there is no
                                              // derivative
  // Shares 2/3, 1/3, 2/3 less one number: 1/9, -2/9, 1/9 around the mean, spread with n - 1: sqrt(6
  // / 81 / 2) = sqrt(3) / 9.
  const double v = 1.0 / 9 / (std::sqrt(3.0) / 9 + 1e-6);
  const auto slope = [](double ratio) { return 1 - 1 / ratio; };
  return {
      // Ten failures at ratio 1 and one at the bound, 1000: each costs ratio times 0.3015, over 12
      // rollouts.
      {"stable-reinforce-r1-reward", {bad * (10 + 1000) / 12, pushed, outlying}},
      // A = v, -2v, v: (-1.2 - 0.9) v + 2.2 v - v over 4 tokens, and 0.001 k3 of each.
      {"ttrv",
       {-0.9 * v / 4 + 0.001 / 4 * (k3(1.5) + k3(0.9) + k3(1.1)),
        {0.001 / 4 * slope(1.5), -0.9 * v / 4 + 0.001 / 4 * slope(0.9),
         2.2 * v / 4 + 0.001 / 4 * slope(1.1), -v / 4},
        voted}},
      // The only two answers differ: u = 1, and grpo's loss weighs exp(-0.2). The divergence, 0.04
      // k3, does not.
      {"q-hawkeye",
       {w * 0.025 * b + 0.04 * (k3(1.5) / 4 + k3(0.9) / 4 + k3(1.1) / 2),
        {0.01 * slope(1.5), -0.225 * w * b + 0.01 * slope(0.9), 0.55 * w * b + 0.02 * slope(1.1)},
        disagreeing}},
      // One success, two failures: one of them, by the addressed draw the first, is dropped. A =
      // 1/2, 0, -1/2 on -A lp over 4 tokens.
      {"red_drop",
       {(-std::log(0.75) - std::log(0.45) + std::log(0.55)) / 8,
        {-0.125, -0.125, 0.0, 0.125},
        surplus}},
      // (-1.2 - 0.9 + 1.1) a / 3; mean entropy 1, and two of three tokens outside 0.8 .. 1.2:
      // -0.001 (1 - 0.2 / 3). The charge has no derivative.
      {"epo-entropy-smoothing",
       {-a / 3 - 0.001 * (1 - 0.2 / 3), {0.0, -0.3 * a, 1.1 * a / 3}, with_history}},
      // grpo on the two rollouts that train: +-b. Over all four the mean would be 3/4 and the
      // spread 1/2.
      {"pods", {0.025 * b, {0.0, -0.225 * b, 0.55 * b, 0.0, 0.0}, chosen}},
      // The same with 1.28 in place of 1.2, over three tokens: (-1.28 - 0.9 + 1.1) a / 3.
      {"rstar2-agent", {-0.36 * a, {0.0, -0.3 * a, 1.1 * a / 3, 0.0, 0.0}, chosen}},
  };
}

}  // namespace rollcall::objective::test
