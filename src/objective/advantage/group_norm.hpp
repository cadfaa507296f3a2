// Advantage group_norm: rewards standardised within their group.
//   A_i = (r_i - mean_g) / (std_g + eps)
// Source: DeepSeekMath, arXiv:2402.03300, section 4.1.2. The paper leaves the estimator of the spread open: the unbiased one (n - 1) and
//   eps 1e-6 are those of verl.
// Shapes: [B] rewards -> [N].   Knobs: adv_eps.
// What differs: every group gets unit spread, so rare successes and rare failures weigh most. Equal rewards give 0; a group of one keeps
//   its plain reward (spread 1, see Step::baseline).
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct GroupNorm {
  static constexpr std::string_view name = "group_norm", formula = "A_i = (r_i - mean_g) / (std_g + adv_eps), std with n - 1";
  double eps = 1e-6;

  void bind(Knobs& knobs) { knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to the group's standard deviation"); }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor centred = step.reward - step.baseline();
    const at::Tensor variance = step.group_sum(centred.square()) / (step.group_size - 1).clamp_min(1);
    const at::Tensor spread = at::where(step.group_size > 1, variance.sqrt() + eps, 1.0);
    return step.over_tokens(centred / step.over_rollouts(spread));
  }
};

}  // namespace rollcall::objective
