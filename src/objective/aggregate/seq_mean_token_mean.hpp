// Aggregate seq-mean-token-mean: mean over each rollout's tokens, then over rollouts.
//   loss = sum_i (sum_t L_it / T_i) / B
// Source: DeepSeekMath, arXiv:2402.03300, eq. 3; verl's loss_agg_mode of that name. B counts
//   rollouts with a trained token.
// Shapes: [N] -> [N] coefficients.   Knobs: none.
// What differs: every rollout weighs the same, so a token of a long rollout weighs less.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct SeqMeanTokenMean {
  static constexpr std::string_view name = "seq-mean-token-mean",
                                    formula = "sum_i (sum_t L_it / T_i) / B";

  at::Tensor operator()(const Step& step) const {
    return step.shape.over_tokens(
        (step.trained_length.clamp_min(1) * step.normalizer.rollouts).reciprocal());
  }
};

}  // namespace rollcall::objective
