// GRPO's derivative where every rollout is the current policy's, written out: without LibTorch, and
// tested equal to the row that has it.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::gpu_check {

/// d loss / d logprob of each rollout's tokens, one number a rollout [B], groups of `group`
/// rollouts one after the other, `length` of them in tokens. The ratio is 1, so the clip is not
/// reached: loss = -sum_i (sum_t ratio_it A_i / T_i) / B with A_i = (r_i - mean_g) / (std_g +
/// 1e-6), std of n - 1 (DeepSeekMath, arXiv:2402.03300, eq. 3; epsilon and estimator are verl's).
/// Rollouts without tokens count neither in B nor otherwise.
inline std::vector<double> on_policy_derivative(std::span<const double> reward,
                                                std::span<const std::int64_t> length,
                                                std::size_t group) {
  double counted = 0.0;
  for (const std::int64_t tokens : length) counted += tokens > 0 ? 1.0 : 0.0;
  std::vector<double> derivative(reward.size(), 0.0);
  for (std::size_t first = 0; first < reward.size(); first += group) {
    double mean = 0.0, squares = 0.0;
    for (std::size_t i = first; i < first + group; ++i) mean += reward[i] / double(group);
    for (std::size_t i = first; i < first + group; ++i)
      squares += (reward[i] - mean) * (reward[i] - mean);
    const double spread = group > 1 ? std::sqrt(squares / double(group - 1)) + 1e-6 : 1.0;
    for (std::size_t i = first; i < first + group; ++i) {
      const double advantage = (reward[i] - (group > 1 ? mean : 0.0)) / spread;
      if (length[i] > 0) derivative[i] = -advantage / (double(length[i]) * counted);
    }
  }
  return derivative;
}

}  // namespace rollcall::gpu_check
