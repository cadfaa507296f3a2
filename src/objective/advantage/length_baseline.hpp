// Advantage length_baseline: the group's baseline is its mean reward per token.
//   A_i = r_i - sum_j T_j r_j / sum_j T_j over the group
// Source: OPO, arXiv:2505.23585, section 3.2 (the variance-optimal baseline where the squared
//   gradient grows with the length).
// Shapes: [B] -> [N].   Knobs: none.
// What differs from group_center: long rollouts weigh more in the baseline. A group of one keeps
//   its plain reward.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct LengthBaseline {
  static constexpr std::string_view name = "length_baseline",
                                    formula = "A_i = r_i - sum_g T r / sum_g T";

  at::Tensor operator()(const Step& step) const {
    return step.shape.over_tokens(
        step.reward -
        step.shape.over_rollouts(step.shape.group_mean(step.reward, step.shape.length) *
                                 (step.shape.group_size > 1)));
  }
};

}  // namespace rollcall::objective
