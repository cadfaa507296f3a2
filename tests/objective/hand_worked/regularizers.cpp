// Hand-worked numbers of the rows that are grpo with another regularizer. grpo itself: 0.025 a,
// derivatives 0, -0.9 a / 4, 1.1 a / 2.
#include "hand_worked.hpp"

namespace rollcall::objective::test {
namespace {

/// A right answer whose log-probs -1, -1, -2 became -1.5, -0.8, -2.2, and a wrong one that has not
/// moved.
PlainStep lost_likelihood() {
  PlainStep step;
  step.rollouts.push_back(
      {0, 1.0, false, {-1.5, -0.8, -2.2}, {-1, -1, -2}, {-1, -1, -2}, {1, 1, 1}, {-1, -1, -2}});
  step.rollouts.push_back({0, 0.0, false, {-1}, {-1}, {-1}, {1}, {-1}});
  return step;
}

PlainStep half_way() {
  PlainStep step = worked_step();
  step.progress = 0.5;
  return step;
}

/// Entropy 0.1 everywhere, and what the controller has left: coefficient 0.01, goal 0.2.
PlainStep low_entropy() {
  PlainStep step = worked_step();
  for (auto& r : step.rollouts) {
    for (double& h : r.entropy) h = 0.1;
  }
  step.statistics = {{"entropy_coef", 0.01}, {"entropy_target", 0.2}};
  return step;
}

double forward(double u) { return u * std::log(u) - u + 1; }

}  // namespace

HandWorkedTable worked_regularizers() {
  const double a = 0.5 / (1 / std::sqrt(2.0) + 1e-6), u = 0.5 / 0.55;
  // k3, d = -ln rho: 1/rho + ln rho - 1, mean within rollouts first; derivative (1 - 1/rho) / 4 or
  // / 2.
  const double k3 =
      (1 / 1.5 + 1 / 0.9 + std::log(1.35) - 2) / 4 + (1 / 1.1 + std::log(1.1) - 1) / 2;
  const auto grpo_and_k3 = [&](double c) {
    return std::vector<double>{c * (1 - 1 / 1.5) / 4, -0.9 * a / 4 + c * (1 - 1 / 0.9) / 4,
                               1.1 * a / 2 + c * (1 - 1 / 1.1) / 2};
  };
  const double llds = -a * (std::exp(-0.5) + 1.2 + std::exp(-0.2)) / 4 + a / 4 + 0.2 * 0.7 / 4;
  const std::vector<double> llds_slopes{-(a * std::exp(-0.5) + 0.2) / 4, 0.0,
                                        -(a * std::exp(-0.2) + 0.2) / 4, a / 4};
  const double rapo =
      0.025 * a + 0.01 * ((forward(2.0 / 3) + forward(10.0 / 9)) / 4 + forward(u) / 2) - 0.001;
  const std::vector<double> rapo_slopes{-0.01 * 2 / 3 * std::log(2.0 / 3) / 4,
                                        -0.9 * a / 4 - 0.01 * 10 / 9 * std::log(10.0 / 9) / 4,
                                        1.1 * a / 2 - 0.01 * u * std::log(u) / 2};
  return {
      // Ratios e^-0.5, e^0.2, e^-0.2 and 1; e^0.2 is above 1.2. The sum lost 0.5 > 0, so 0.5 and
      // 0.2 are charged: 0.2 * 0.7, over 4 tokens.
      {"llds", {llds, llds_slopes, lost_likelihood}},
      // Reward 1: phi 1, u = 0.5 / 0.75 and 0.5 / 0.45. Reward 0: phi 1/2, of two tokens with 1/2
      // each: sqrt(1/2) / (2 sqrt(1/2)) = 1/2, u = 0.5 / 0.55. Times 0.01; slope -u ln u. Entropy
      // 1: -0.001.
      {"rapo", {rapo, rapo_slopes}},
      // 0.02 (0.5 - 0.3) / 0.7 = 0.04 / 7.
      {"othink-grpo-d", {0.025 * a + 0.04 / 7 * k3, grpo_and_k3(0.04 / 7), half_way}},
      {"grpo_kl", {0.025 * a + 0.04 * k3, grpo_and_k3(0.04)}},
      // The same with 0.001.
      {"spark-coevolve", {0.025 * a + 0.001 * k3, grpo_and_k3(0.001)}},
      // Entropy 1 on every token, coefficients sum to 1.
      {"entropy_grpo", {0.025 * a - 0.001, {0.0, -0.9 * a / 4, 1.1 * a / 2}}},
      // Token mean: (-1.2 - 0.9 + 1.1) a / 3; 0.1 <= 0.2, so the bonus 0.01 * 0.1 counts.
      {"skywork_or1", {-a / 3 - 0.001, {0.0, -0.9 * a / 3, 1.1 * a / 3}, low_entropy}},
  };
}

}  // namespace rollcall::objective::test
