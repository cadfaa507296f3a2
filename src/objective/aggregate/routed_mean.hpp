// Aggregate routed-mean: a mean over the policy's rollouts (own) of mixed prompts, plus a mean over
// the tokens of an expert's rollouts of prompts without a success.
//   own, where the prompt's own rollouts have a right and a wrong one: 1 / (B_mixed T_i), B_mixed
//   the number of such rollouts;  expert, where no own one is right: 1 / (tokens of such experts);
//   else 0
// Source: DYPO, arXiv:2604.08926: prompts are routed by their own successes, and each loss is a
//   mean over the prompts that were routed to it.
// Shapes: [N] -> [N] coefficients.   Knobs: none.
// What differs from kind-mean: a rollout that has no part in its prompt's loss counts neither in a
//   denominator nor in a regularizer. Only rollouts with a trained token decide whether a prompt is
//   mixed. An expert is imitated if none of all own rollouts is right.
#pragma once

#include "objective/groups.hpp"
#include "objective/pieces.hpp"

namespace rollcall::objective {

struct RoutedMean {
  static constexpr std::string_view
      name = "routed-mean",
      formula =
          "own, mixed prompts: seq-mean-token-mean; experts, all-wrong prompts: token-mean; else 0";

  void bind(Knobs& knobs) {
    knobs.needs.column(column::correct);
    knobs.needs.column(column::expert);
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor expert = (step.named(column::expert) > 0.5).to(at::kDouble),
                     length = step.trained_length;
    const at::Tensor own = (length > 0).to(at::kDouble) * (1.0 - expert),
                     good = own * (step.named(column::correct) > 0.5).to(at::kDouble);
    const at::Tensor right = step.shape.group_sum(good), wrong = step.shape.group_sum(own - good);
    const at::Tensor mixed =
        own * step.shape.over_rollouts((right > 0).logical_and(wrong > 0).to(at::kDouble));
    const at::Tensor hard = imitated(step);
    return step.shape.over_tokens(mixed / (length.clamp_min(1) * mixed.sum().clamp_min(1)) +
                                  hard / (length * hard).sum().clamp_min(1));
  }
};

}  // namespace rollcall::objective
