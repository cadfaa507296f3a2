// Aggregate token-mean: mean over all trained tokens of the step.
//   loss = sum_it L_it / sum_i T_i
// Source: verl's loss_agg_mode of that name; DAPO's released code (arXiv:2503.14476, section 3.3,
//   takes it per prompt: see prompt-mean).
// Shapes: [N] -> [N] coefficients.   Knobs: none.
// What differs: every token weighs the same, so long rollouts and large groups weigh more.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct TokenMean {
  static constexpr std::string_view name = "token-mean", formula = "sum_it L_it / sum_i T_i";

  at::Tensor operator()(const Step& step) const {
    return at::full({step.shape.tokens}, 1.0 / step.normalizer.tokens, at::kDouble);
  }
};

}  // namespace rollcall::objective
