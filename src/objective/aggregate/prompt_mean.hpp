// Aggregate prompt-mean: mean over each prompt's trained tokens, then over prompts.
//   loss = sum_p (sum_{i in p, t} L_it / sum_{i in p} T_i) / P
// Source: DAPO, arXiv:2503.14476, eq. 8, as printed; prompt-level averaging of ScaleRL,
//   arXiv:2510.13786. P counts prompts with a trained token.
// Shapes: [N] -> [N] coefficients.   Knobs: none.
// What differs: every prompt has the same weight, regardless of its number of rollouts. This is the
//   aggregate for groups of different sizes.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct PromptMean {
  static constexpr std::string_view name = "prompt-mean",
                                    formula = "sum_p (sum_{i in p, t} L_it / sum_{i in p} T_i) / P";

  at::Tensor operator()(const Step& step) const {
    return step.shape.over_tokens(step.shape.over_rollouts(
        (step.shape.group_sum(step.trained_length).clamp_min(1) * step.normalizer.prompts)
            .reciprocal()));
  }
};

}  // namespace rollcall::objective
