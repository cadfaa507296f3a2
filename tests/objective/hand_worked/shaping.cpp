// Hand-worked numbers of the rows that shape rewards or join regularizers.
#include "hand_worked.hpp"

namespace rollcall::objective::test {
namespace {

// As in baselines.cpp: advantages a0 >= 0 at ratios 1.5 (above `top`, no derivative) and 0.9, a1 <=
// 0 at 1.1.
HandWorked by_tokens(double a0, double a1, double top, std::function<PlainStep()> step) {
  return {
      -(top * a0 + 0.9 * a0 + 1.1 * a1) / 3, {0.0, -0.9 * a0 / 3, -1.1 * a1 / 3}, std::move(step)};
}
HandWorked by_rollouts(double a0, double a1, std::function<PlainStep()> step) {
  return {-(1.2 * a0 + 0.9 * a0) / 4 - 1.1 * a1 / 2,
          {0.0, -0.9 * a0 / 4, -1.1 * a1 / 2},
          std::move(step)};
}
/// Standardised advantage of the larger of two rewards that lie x apart: +-x/2 over x / sqrt(2) +
/// 1e-6.
double pair_norm(double x) { return x / 2 / (x / std::sqrt(2.0) + 1e-6); }
/// k3 = exp(-ln rho) + ln rho - 1 against a reference at ratio 1.
double k3(double rho) { return 1 / rho + std::log(rho) - 1; }

PlainStep changed(const std::function<void(PlainStep&)>& change) {
  PlainStep step = worked_step();
  change(step);
  return step;
}
PlainStep near_the_limit() {
  return changed([](PlainStep& step) { step.horizon = 2.2; });
}
PlainStep drifted() {
  return changed([](PlainStep& step) { step.rollouts[0].reference[0] -= 0.4; });
}
PlainStep drifted_and_cut() {
  PlainStep step = drifted();
  step.rollouts[1].truncated = true;
  return step;
}
PlainStep known_short() {  // the shortest correct answer so far had one token
  return changed([](PlainStep& step) {
    for (auto& r : step.rollouts) r.best_length = 1.0;
    step.rollouts[0].correct = 1.0;
  });
}
PlainStep both_right() {
  return changed([](PlainStep& step) {
    for (auto& r : step.rollouts) r.correct = 1.0;
  });
}
PlainStep first_right() {
  return changed([](PlainStep& step) { step.rollouts[0].correct = 1.0; });
}
PlainStep planted_exploit() {
  return changed([](PlainStep& step) {
    step.rollouts[1].reward = 1.0;
    step.rollouts[0].components["judge"] = 1.0, step.rollouts[1].components["judge"] = 0.0;
  });
}
PlainStep beside_two_successes() {
  return changed([](PlainStep& step) {
    for (int i = 0; i < 2; ++i)
      step.rollouts.push_back(step.rollouts[1]), step.rollouts.back().group = 1;
    for (std::size_t i = 2; i < 4; ++i) step.rollouts[i].reward = step.rollouts[i].correct = 1.0;
  });
}
PlainStep at_the_end() {
  return changed([](PlainStep& step) { step.progress = 1.0; });
}

}  // namespace

HandWorkedTable worked_shaping() {
  const double l0 = std::log(0.75), l1 = std::log(0.45), l2 = std::log(0.55), grpo = pair_norm(1.0);
  const double ton = 0.5 / (1 / std::sqrt(2.0) + 1e-4);
  const double brief = 0.15 / (0.3 / std::sqrt(2.0) + 1e-4);
  const double all_k3 = k3(1.5) + k3(0.9) + k3(1.1);
  return {
      // H = 2.2: the buffer is 0.44 long and begins at 1.76. Two tokens are 0.24 / 0.44 = 6/11 into
      // it: reward 5/11; one token: 0.
      {"dapo_overlong",
       {by_tokens(pair_norm(5.0 / 11), -pair_norm(5.0 / 11), 1.28, near_the_limit)}},
      // Divergence 0.4 of rollout 0 costs 0.05 * 0.4 = 0.02: A = +-0.98.
      {"rloo_kl", {0.98 * (-l0 - l1 + l2) / 2, {-0.49, -0.49, 0.49}, drifted}},
      // ln p: 2 ln(1/2) < ln(1/2), so rank 1 of 2: 1 - 0.25 * (2 - 1) / 2 = 0.875. The prompt with
      // two successes leaves. (-1.2 - 0.9 + 1.1) A / 3, and 0.1 k3 of each token.
      {"unlikeliness",
       {-pair_norm(0.875) / 3 + 0.1 * all_k3 / 3,
        {0.1 / 9, -0.3 * pair_norm(0.875) - 0.1 / 27, 1.1 * pair_norm(0.875) / 3 + 0.1 / 33, 0.0,
         0.0},
        beside_two_successes}},
      // H = 2.2, as above: two tokens are 6/11 into the buffer. Correct at a pass rate of 1/2:
      // reward 1 - 3/11 = 8/11; one token: 0.
      // A = +-8/11; one ratio a rollout: sqrt(1.35) bounded at 1.02, and 1.1. (-2 * 1.02 + 1.1)
      // 8/11 / 2.
      {"apriel-reasoner", {-0.94 * 8 / 22, {0.0, 0.0, 1.1 * 8 / 22}, near_the_limit}},
      // Two tokens against one: cos(pi) = -1, held at -0.7: reward 0.3. The wrong answer: min(0,
      // cos(pi/2)) = 0.
      // A = +-0.15 over 0.3 s + 1e-4; (-1.2 - 0.9 + 1.1) A / 3, and 0.04 k3 of each token.
      {"hapo",
       {-brief / 3 + 0.04 * all_k3 / 3,
        {0.04 / 9, -0.3 * brief - 0.04 / 27, 1.1 * brief / 3 + 0.04 / 33},
        known_short}},
      // Rewards 0.5 and -1: A = +-0.75. First tokens: (-1.2 + 1.1) * 0.75 / 2 times 0.001; the
      // other token: -0.9 * 0.75.
      // k3 under the same coefficients 0.0005, 1, 0.0005, times 0.001; derivative of k3: 1 - 1/rho
      // = 1/3, -1/9, 1/11.
      {"thinkless-degrpo",
       {-0.0000375 - 0.675 + 0.001 * (0.0005 * k3(1.5) + k3(0.9) + 0.0005 * k3(1.1)),
        {0.001 * 0.0005 / 3, -0.675 - 0.001 / 9, 0.0005 * 0.825 + 0.001 * 0.0005 / 11},
        first_right}},
      // The shorter answer (rollout 1) earns 1, the longer 1/2: A = -b, +b. Ratio 1.5 pushed down:
      // 1.5 b; 0.9 b; -1.1 b.
      // (2.4 b / 2 - 1.1 b) / 2 = 0.05 b with b = 1/4.
      {"s-grpo", {0.0125, {0.09375, 0.05625, -0.1375}, both_right}},
      // Rewards sigmoid(1 - 1) = 1/2 and, violated, 0: A = +-1/4.
      {"cgpo-mixture-of-judges", {(-l0 - l1 + l2) / 8, {-0.125, -0.125, 0.125}, planted_exploit}},
      // grpo's advantages over tokens: (-1.2 - 0.9 + 1.1) grpo / 3; 0.001 times the mean of k3;
      // entropy 1 everywhere: -0.001.
      {"one-shot-rlvr",
       {-grpo / 3 + 0.001 * all_k3 / 3 - 0.001,
        {0.001 / 9, -0.3 * grpo - 0.001 / 27, 1.1 * grpo / 3 + 0.001 / 33}}},
      // dapo's: (-1.28 - 0.9 + 1.1) grpo / 3. Forms of questions are no part of the loss.
      {"prompt-augmentation-grpo", {by_tokens(grpo, -grpo, 1.28, worked_step)}},
      // A = +-0.5 / (1/sqrt(2) + 1e-4): (-1.2 - 0.9) A / 4 + 1.1 A / 2, and 0.04 k3, 1/4 of it for
      // either token of the first rollout; slope of k3: 1 - 1/rho.
      {"ton-thought-dropout",
       {-2.1 * ton / 4 + 1.1 * ton / 2 + 0.04 * (k3(1.5) / 4 + k3(0.9) / 4 + k3(1.1) / 2),
        {0.01 / 3, -0.9 * ton / 4 - 0.01 / 9, 1.1 * ton / 2 + 0.02 / 11}}},
      // Cut off, rollout 1 has reward -1. Divergence 0.4 of rollout 0 costs 2e-4 * 0.4 = 8e-5: A =
      // +-1.99992; less half of 3 * 0.001.
      {"t1-inference-scaling",
       {1.99992 * (-l0 - l1 + l2) / 2 - 0.0015, {-0.99996, -0.99996, 0.99996}, drifted_and_cut}},
      // Budget floor(800 * 0.2) = 160: 0.9 + 0.1 * 2/160 and 0.1 * 1/160, which lie 0.900625 apart.
      {"rmt", {by_rollouts(pair_norm(0.900625), -pair_norm(0.900625), at_the_end)}},
  };
}

}  // namespace rollcall::objective::test
