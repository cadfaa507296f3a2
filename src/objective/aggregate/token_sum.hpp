// Aggregate token-sum: plain sum over the step's tokens.
//   loss = sum_it L_it
// Source: verl's loss_agg_mode of that name.
// Shapes: [N] -> [N] coefficients.   Knobs: none.
// What differs: there is no denominator. The derivative grows with the batch, and the learning rate
//   must be chosen for it.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct TokenSum {
  static constexpr std::string_view name = "token-sum", formula = "sum_it L_it";

  at::Tensor operator()(const Step& step) const {
    return at::ones({step.shape.tokens}, at::kDouble);
  }
};

}  // namespace rollcall::objective
