// Aggregate balanced: separate token means of rewarded and of punished answers, weighted by the
// number of these answers, then averaged over prompts.
//   loss = sum_p (sum_s (n_ps / n_p) (sum_{i in s, t} L_it / sum_{i in s} T_i)) / P, s the sign of
//   the rollout's mean advantage: +, -, 0
// Source: Balanced Aggregation, arXiv:2605.04077. Answers of advantage 0 form a third side, so that
//   regularizers still see them.
// Shapes: [N] -> [N] coefficients.   Knobs: none.
// What differs from prompt-mean: long wrong answers cannot outweigh short right ones by their
//   length, and every token of a side has the same weight.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Balanced {
  static constexpr std::string_view
      name = "balanced",
      formula = "sum_p sum_s (n_ps / n_p) (sum_{i in s} L_it / sum_{i in s} T_i) / P, s = sign(A)";

  at::Tensor operator()(const Step& step) const {
    const at::Tensor pull =
        step.shape.rollout_sum(step.keep.defined() ? step.advantage * step.keep : step.advantage) /
        step.trained_length.clamp_min(1.0);
    const at::Tensor trained = (step.trained_length > 0).to(at::kDouble),
                     all = step.shape.group_sum(trained).clamp_min(1.0);
    const auto side = [&](const at::Tensor& member) {
      const at::Tensor in = member.to(at::kDouble) * trained;
      const at::Tensor per_token = step.shape.group_sum(in) / all /
                                   step.shape.group_sum(in * step.trained_length).clamp_min(1.0) /
                                   step.normalizer.prompts;
      return in * step.shape.over_rollouts(per_token);
    };
    return step.shape.over_tokens(side(pull > 1e-9) + side(pull < -1e-9) +
                                  side(pull.abs() <= 1e-9));
  }
};

}  // namespace rollcall::objective
