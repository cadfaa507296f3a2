// Advantage mean_norm: group-centred rewards over the group's mean reward.
//   A_i = (r_i - mean_g) / (mean_g + eps)
// Source: Maximum Likelihood RL (MaxRL), arXiv:2602.02710; eps 1e-6 as in the released code.
// Shapes: [B] -> [N].   Knobs: adv_eps.
// What differs from group_center: with 0/1 rewards the derivative approaches the derivative of log
//   p instead of p, so rarely solved prompts weigh 1 / p. Rewards are meant to be >= 0. If the mean
//   is 0 or below, the divisor is eps. A group of one keeps its plain reward.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct MeanNorm {
  static constexpr std::string_view name = "mean_norm",
                                    formula = "A_i = (r_i - mean_g) / (mean_g + adv_eps)";
  double eps = 1e-6;

  void bind(Knobs& knobs) {
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to the group's mean");
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor scale = at::where(
        step.shape.group_size > 1, step.shape.group_mean(step.reward).clamp_min(0.0) + eps, 1.0);
    return step.shape.over_tokens((step.reward - step.baseline()) /
                                  step.shape.over_rollouts(scale));
  }
};

}  // namespace rollcall::objective
