// Weight opsm: a bad rollout that the policy has already moved away from does not push.
//   w_i = 0 where A_i < 0 and mean_t (rollout_it - current_it) > opsm_delta, else 1
// Source: DeepSeek-V3.2, arXiv:2512.02556, section 3.1, "off-policy sequence masking"; its
//   threshold is not printed. 1e-4 is slime's default.
// Shapes: [N] -> [N].   Knobs: opsm_delta.
// What differs from reject: it drops bad rollouts only, in one direction only, measured from the
//   policy that this optimizer step starts from (column current_logprob). The denominators stay, as
//   in the paper's objective. A_i is the mean advantage of the rollout's tokens.
// Acts at every update, on the update's rollouts.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct OffPolicySequenceMask {
  static constexpr std::string_view
      name = "opsm",
      formula = "w_i = not (A_i < 0 and mean_t (rollout - current) > opsm_delta)";
  double delta = 1e-4;

  void bind(Knobs& knobs) {
    knobs.loss_use.idle_on_policy();
    knobs.number("opsm_delta", delta, {0.0, 1e6},
                 "largest mean log-ratio of the sampler over the current policy");
    knobs.needs.column(column::current_logprob);
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor moved = step.shape.rollout_mean(step.columns.rollout_logprob -
                                                     step.named(column::current_logprob)) > delta;
    return {step.shape.over_tokens(moved.logical_and(step.shape.rollout_mean(step.advantage) < 0)
                                       .logical_not()
                                       .to(at::kDouble)),
            {}};
  }
};

}  // namespace rollcall::objective
