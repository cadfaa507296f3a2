// Surrogate minirl: reinforce weighted by the ratio to the policy that sampled, masked by the ratio
// to the old policy.
//   L = -M sg(min(exp(lp - rollout), minirl_cap)) A lp
//   M = 0 where A > 0 and rho > 1 + clip_high, or A < 0 and rho < 1 - clip_low, else 1
// Source: Stabilizing Reinforcement Learning with LLMs: Formulation and Practices, arXiv:2512.01374
//   (MiniRL; cap 5, widths 0.2 and 0.27).
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: minirl_cap, clip_low, clip_high.
// What differs from cispo: one weight corrects both for staleness and for differences between the
//   arithmetic of sampler and trainer. Tokens outside the interval get no derivative. It reports
//   actor/rollout_kl, the mean of rollout - old, an estimate of KL(sampler || old).
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct MiniRl {
  static constexpr std::string_view
      name = "minirl",
      formula = "L = -M sg(min(exp(lp - rollout), minirl_cap)) A lp, M from rho";
  double cap = 5.0, low = 0.2, high = 0.27;

  void bind(Knobs& knobs) {
    knobs.number("minirl_cap", cap, {1.0, 1e6}, "largest weight of a token");
    knobs.number("clip_low", low, {0.0, 1.0},
                 "how far the ratio may fall below 1 before a negative advantage stops pushing");
    knobs.number("clip_high", high, {0.0, 1e6},
                 "how far the ratio may rise above 1 before a positive advantage stops pushing");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor rollout = micro_batch.take(micro_batch.step.columns.rollout_logprob),
                     r = ratio.detach();
    const at::Tensor weight =
        (micro_batch.logprob.detach() - rollout).clamp(-20.0, 20.0).exp().clamp_max(cap);
    const at::Tensor masked =
        (micro_batch.advantage > 0)
            .logical_and(r > 1.0 + high)
            .logical_or((micro_batch.advantage < 0).logical_and(r < 1.0 - low));
    const at::Tensor loss = -masked.logical_not().to(at::kDouble) * weight * micro_batch.advantage *
                            micro_batch.logprob;
    return {loss, masked, {{"rollout_kl", rollout - micro_batch.old_logprob}}};
  }
};

}  // namespace rollcall::objective
