// Reward pass_rate_length: a length penalty that grows with the prompt's pass rate.
//   r_i -= length_penalty * p_g * T_i / H, p_g the mean verifier reward of the group, held within [0, 1]
// Source: Apriel-Reasoner, arXiv:2604.02007 (difficulty-aware length penalty; the product form and the coefficient are this project's reading).
// Shapes: [B] -> [B].   Knobs: length_penalty.
// What differs from a fixed penalty: easy prompts are pushed short, prompts that are hardly ever solved may stay long.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct PassRateLength {
  static constexpr std::string_view name = "pass_rate_length", formula = "r_i -= length_penalty * mean_g * T_i / H";
  double penalty = 0.2;

  void bind(Knobs& knobs) { knobs.number("length_penalty", penalty, {0.0, 1e6}, "reward lost at the token limit in a group that is always right"); }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor rate = step.over_rollouts(step.group_mean(step.columns.reward).clamp(0.0, 1.0));
    return {step.reward - penalty * rate * step.length / step.horizon(), {}, {}};
  }
};

}  // namespace rollcall::objective
