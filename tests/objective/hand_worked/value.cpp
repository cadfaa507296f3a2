// Hand-worked numbers of the methods with a value head or a teacher.
#include "hand_worked.hpp"

namespace rollcall::objective::test {
namespace {

/// The worked step with value 1/2 everywhere, before the update and now. One-step errors: 0, 1/2;
/// -1/2.
PlainStep valued() {
  PlainStep step = worked_step();
  for (auto& r : step.rollouts) r.old_value = r.value = std::vector<double>(r.length(), 0.5);
  return step;
}

/// Valued, and the reference found the first token a nat less likely.
PlainStep diverged() {
  PlainStep step = valued();
  step.rollouts[0].reference = step.rollouts[0].old;
  step.rollouts[0].reference[0] -= 1;
  step.rollouts[1].reference = step.rollouts[1].old;
  return step;
}

/// One token, then seven: values 0 but 1/2 in the first segment of five; reward 1 for the long one.
/// All ratios 1.
PlainStep segments() {
  const std::vector<double> lp(7, -1), value{0.5, 0.5, 0.5, 0.5, 0.5, 0, 0};
  PlainStep step;
  step.rollouts.push_back({0, 0.0, false, {-1}, {-1}, {-1}, {1}, {-1}});
  step.rollouts.push_back({0, 1.0, false, lp, lp, lp, std::vector<double>(7, 1.0), lp});
  step.rollouts[0].old_value = step.rollouts[0].value = {0.0};
  step.rollouts[1].old_value = step.rollouts[1].value = value;
  step.rollouts[1].reference[0] -= 2;
  return step;
}

/// Cut off by the limit with values 0.2, 0.4, 0.5, and a finished token with value 0.5 and reward
/// 1. All ratios 1; values have not moved.
PlainStep cut_off() {
  const std::vector<double> lp(3, -1);
  PlainStep step;
  step.rollouts.push_back({0, 0.0, true, lp, lp, lp, {1, 1, 1}, lp});
  step.rollouts.push_back({0, 1.0, false, {-1}, {-1}, {-1}, {1}, {-1}});
  step.rollouts[0].old_value = step.rollouts[0].value = {0.2, 0.4, 0.5};
  step.rollouts[1].old_value = step.rollouts[1].value = {0.5};
  return step;
}

/// The student had 1/2 for either token and has 0.6 and 0.4 now; the teacher 0.8 and 0.2. KL(old ||
/// teacher) = ln(0.25 / 0.16) / 2 = 0.22314355.
PlainStep taught() {
  const double half = std::log(0.5);
  PlainStep step;
  step.rollouts.push_back({0,
                           1.0,
                           false,
                           {std::log(0.6), std::log(0.4)},
                           {half, half},
                           {half, half},
                           {1, 1},
                           {half, half}});
  step.rollouts[0].teacher = {std::log(0.8), std::log(0.2)};
  step.rollouts[0].teacher_kl = std::vector<double>(2, std::log(0.25 / 0.16) / 2);
  return step;
}

std::vector<double> whiten(std::vector<double> x) {
  double mean = 0, square = 0;
  for (const double v : x) mean += v / double(x.size());
  for (const double v : x) square += (v - mean) * (v - mean) / double(x.size());
  for (double& v : x) v = (v - mean) / (std::sqrt(square) + 1e-8);
  return x;
}

}  // namespace

HandWorkedTable worked_value() {
  const double l15 = std::log(1.5), l09 = std::log(0.9), l11 = std::log(1.1), ln2 = std::log(2.0);
  // lambda 0.95: A = 0 + 0.95 * 1/2, 1/2; -1/2, then whitened (mean 0.475 / 3).
  const auto w = whiten({0.475, 0.5, -0.5});
  const double value_loss = (0.475 * 0.475 + 0.5) / 6;  // targets A + 1/2, so the errors are A;
                                                        // halves of their squares over 3 tokens
  // Segments of 5, 1, 1: one-step errors -1/2, 0, 1; A = -1/2 + 0.95^2, 0.95, 1; the other rollout
  // 0.
  const double first = -0.5 + 0.95 * 0.95;
  // The reference found the first token of the long one two nats less likely: its segment is paid
  // -0.05 * 2 / 5 = -0.02 and A = first - 0.02.
  const double charged = first - 0.02;
  const std::vector<double> m{0, charged, charged, charged, charged, charged, 0.95, 1};
  double sum = 0;
  std::vector<double> slopes;
  for (const double x : m) sum += x / 8, slopes.push_back(-x / 8);
  const double penalty = -(1.5 * w[0] + 0.9 * w[1] + 1.1 * w[2]) / 3 +
                         (l15 * l15 + l09 * l09 + l11 * l11) / 6 + value_loss;
  const std::vector<double> penalty_slopes{(-1.5 * w[0] + l15) / 3, (-0.9 * w[1] + l09) / 3,
                                           (-1.1 * w[2] + l11) / 3};
  const double distilled = -(std::log(1.6) * std::log(0.6) + std::log(0.4) * std::log(0.4)) / 2;
  const std::vector<double> distilled_slopes{-std::log(1.6) / 2, -std::log(0.4) / 2};
  return {
      // Bounds 1.2 on the first token only: 0.9 and, for a negative advantage, 1.1 pass.
      {"ppo",
       {-(1.2 * w[0] + 0.9 * w[1] + 1.1 * w[2]) / 3 + value_loss,
        {0.0, -0.9 * w[1] / 3, -1.1 * w[2] / 3},
        valued}},
      // The first token pays 0.001 for its nat. One-step errors -0.001 + 0.99 / 2 - 1/2 = -0.006,
      // 1/2; A = -0.006 + 0.99 * 0.95 / 2 = 0.46425, 1/2; -1/2. The value: 0.5 / 2 times the mean
      // of the squares.
      {"rlgf",
       {-(1.2 * 0.46425 + 0.45 - 0.55) / 3 + (0.46425 * 0.46425 + 0.5) / 12,
        {0.0, -0.15, 0.55 / 3},
        diverged}},
      // Length 2: 1 - 1 / 0.1 < 0, so lambda 0 and A = 0, 1/2; length 1: -1/2. Targets are returns
      // 1, 1, 0: errors 1/2, squares 1/4 each, halved: 1/8. The likelihood term: 0.1 times the mean
      // of -ln 0.75 and -ln 0.45 over the two tokens of the correct rollout; slope -0.05 each.
      {"vapo",
       {(-0.45 + 0.55) / 3 + 0.125 - 0.05 * std::log(0.75 * 0.45),
        {-0.05, -0.15 - 0.05, 0.55 / 3},
        [] {
          PlainStep step = valued();
          step.rollouts[0].correct = 1.0;
          return step;
        }}},
      // Returns less values: 1/2, 1/2, -1/2; errors of the value the same: 0.5 * 1/4; entropy 1:
      // -0.01.
      {"a2c",
       {-(std::log(0.75) + std::log(0.45) - std::log(0.55)) / 6 + 0.125 - 0.01,
        {-0.5 / 3, -0.5 / 3, 0.5 / 3},
        valued}},
      // Unclipped: -rho A. k2 from old: ln(rho)^2 / 2, coefficient 1; derivative ln rho.
      {"ppo_kl_penalty", {penalty, penalty_slopes, valued}},
      // Value errors are A: five times charged^2, 0.95^2, 1, halved, over 8 tokens.
      {"ma-rlhf", {-sum + (5 * charged * charged + 0.95 * 0.95 + 1) / 16, slopes, segments}},
      // Errors 0.2, 0.1, 0 (the last value is carried on): A = 0.2 + 0.95 * 0.1, 0.1, 0. Finished:
      // A = 1/2. The value learns from that token alone: 1/8 / 4.
      {"t-ppo", {-(0.295 + 0.1 + 0.5) / 4 + 0.03125, {-0.295 / 4, -0.025, 0.0, -0.125}, cut_off}},
      // A = ln 1.6 + KL = ln 2 and ln 0.4 + KL = -ln 2. L = -ln 2 (ln 0.6 - ln 0.4) / 2.
      {"vopd", {-ln2 * l15 / 2, {-ln2 / 2, ln2 / 2}, taught}},
      {"on_policy_distillation", {distilled, distilled_slopes, taught}},
  };
}

}  // namespace rollcall::objective::test
