// Advantage leave_one_out: rewards minus the mean of the other rollouts of the group.
//   A_i = r_i - sum_{j != i} r_j / (n - 1) = n / (n - 1) * (r_i - mean_g)
// Source: Back to Basics (RLOO), arXiv:2402.14740, section 2.3; the estimator is Kool et al. 2019.
// Shapes: [B] rewards -> [N].   Knobs: none.
// What differs from group_center: the baseline does not contain the rollout itself, so the estimate
//   is unbiased for any n. A group of one keeps its plain reward.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct LeaveOneOut {
  static constexpr std::string_view name = "leave_one_out",
                                    formula = "A_i = n / (n - 1) * (r_i - mean_g)";

  at::Tensor operator()(const Step& step) const {
    const at::Tensor stretch =
        at::where(step.shape.group_size > 1,
                  step.shape.group_size / (step.shape.group_size - 1).clamp_min(1), 1.0);
    return step.shape.over_tokens((step.reward - step.baseline()) *
                                  step.shape.over_rollouts(stretch));
  }
};

}  // namespace rollcall::objective
