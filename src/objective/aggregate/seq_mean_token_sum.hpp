// Aggregate seq-mean-token-sum: sum over each rollout's tokens, mean over rollouts.
//   loss = sum_i (sum_t L_it) / B
// Source: the policy gradient theorem on whole responses; verl's loss_agg_mode of that name. B
//   counts rollouts with a trained token.
// Shapes: [N] -> [N] coefficients.   Knobs: none.
// What differs: there is no division by length, so the log-probability of the whole response is
//   differentiated.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct SeqMeanTokenSum {
  static constexpr std::string_view name = "seq-mean-token-sum", formula = "sum_i (sum_t L_it) / B";

  at::Tensor operator()(const Step& step) const {
    return at::full({step.shape.tokens}, 1.0 / step.normalizer.rollouts, at::kDouble);
  }
};

}  // namespace rollcall::objective
