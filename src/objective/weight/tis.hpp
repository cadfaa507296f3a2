// Weight tis: truncated importance sampling against the policy that generated the tokens.
//   w_it = min(exp(old_it - rollout_it), tis_cap), log-ratio held within +-20, frozen
// Source: Yao et al. 2025, "Your Efficient RL Framework Secretly Brings You Off-Policy RL Training"
//   (blog); cap 2 is verl's default for it.
// Shapes: [N] -> [N].   Knobs: tis_cap.
// What differs from none: it corrects for a sampler that does not compute the trainer's
//   probabilities bit for bit, or that is older than the step. It is exactly 1 where the sampler is
//   neither. The denominators stay.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct TruncatedImportance {
  static constexpr std::string_view name = "tis",
                                    formula = "w_it = min(exp(old_it - rollout_it), tis_cap)";
  double cap = 2.0;

  void bind(Knobs& knobs) {
    knobs.loss_use.idle_on_policy();
    knobs.number("tis_cap", cap, {1.0, 1e6}, "largest importance weight of a token");
  }

  TokenWeight operator()(const Step& step) const {
    return {(step.columns.old_logprob - step.columns.rollout_logprob)
                .clamp(-20.0, 20.0)
                .exp()
                .clamp_max(cap),
            {}};
  }
};

}  // namespace rollcall::objective
