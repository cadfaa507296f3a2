// Advantage gpg_scale: group-centred rewards, made up for the rollouts that earn nothing.
//   A_i = (rollouts / rollouts with r != 0) (r_i - mean_g) / gpg_norm, counted over the step's rollouts with tokens
// Source: GPG, arXiv:2504.02546, section 3 (alpha); counting as in verl's advantage estimator of that name (f_norm 1).
// Shapes: [B] -> [N].   Knobs: gpg_norm.
// What differs from group_center: a step with few successes is scaled up, so the size of the derivative depends less on difficulty.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>

namespace rollcall::objective {

struct GpgScale {
  static constexpr std::string_view name = "gpg_scale", formula = "A_i = (B / #(r != 0)) (r_i - mean_g) / gpg_norm";
  double norm = 1.0;

  void bind(Knobs& knobs) { knobs.number("gpg_norm", norm, {1e-6, 1e6}, "constant that divides"); }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor counted = step.length > 0;
    const double nonzero = counted.logical_and(step.reward != 0).sum().item<double>();
    const double alpha = counted.sum().item<double>() / std::max(1.0, nonzero);
    return step.over_tokens(alpha / norm * (step.reward - step.baseline()));
  }
};

}  // namespace rollcall::objective
