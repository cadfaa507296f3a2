// Aggregate control_token: the first token of every rollout apart from the rest.
//   loss = control_alpha * mean_i L_i0 + mean_{i, t >= 1} L_it, each mean over its trained tokens
//   of the step
// Source: Thinkless (DeGRPO), arXiv:2505.13379, eq. 7 (alpha 0.001).
// Shapes: [N] -> [N] coefficients.   Knobs: control_alpha.
// What differs from token-mean: the token that chooses the mode has its own weight, which depends
//   neither on the length of the answer nor on the number of other tokens.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct ControlToken {
  static constexpr std::string_view name = "control_token",
                                    formula = "control_alpha mean_i L_i0 + mean_{i, t>=1} L_it";
  double alpha = 0.001;

  void bind(Knobs& knobs) {
    knobs.number("control_alpha", alpha, {0.0, 1e6}, "weight of the first tokens' mean");
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor keep = step.keep.defined() ? step.keep
                                                : at::ones({step.shape.tokens}, at::kDouble),
                     first = (step.shape.place == 0).to(at::kDouble);
    const at::Tensor firsts = (first * keep).sum().clamp_min(1.0),
                     others = ((1.0 - first) * keep).sum().clamp_min(1.0);
    return first * (alpha / firsts) + (1.0 - first) / others;
  }
};

}  // namespace rollcall::objective
