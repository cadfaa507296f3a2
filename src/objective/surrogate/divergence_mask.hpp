// Surrogate divergence_mask: tokens that moved too far in probability, in the direction they are
// pushed, are left out.
//   L = -keep sg(min(rho, mask_cap)) A lp,  p = exp(lp), q = exp(anchor)
//   tv: keep = p - q <= mask_high where A > 0, else p - q >= -mask_low
//   kl: b = q ln(q / p) + (1 - q) ln((1 - q) / (1 - p));  keep = b <= mask_high or p <= q where A >
//   0, else b <= mask_low or p >= q
// Source: Rethinking the Trust Region in LLM Reinforcement Learning (DPPO), arXiv:2602.04879,
//   binary divergences with thresholds that the rows set. The defaults are from verl's policy
//   losses dppo_tv and dppo_kl (cap 20, threshold from its clip ratio 0.2).
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: mask_divergence, mask_low, mask_high, mask_cap,
//   mask_anchor.
// What differs from clip: the interval is in probability mass, so rare tokens may change their
//   ratio a lot and common tokens only a little.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct DivergenceMask {
  static constexpr std::string_view
      name = "divergence_mask",
      formula = "L = -keep sg(min(rho, mask_cap)) A lp, keep by |p - p_old| or its KL";
  enum class Divergence { tv, kl };
  enum class Anchor { old, rollout };
  Divergence divergence = Divergence::tv;
  Anchor anchor = Anchor::old;
  double low = 0.2, high = 0.2, cap = 20.0;

  void bind(Knobs& knobs) {
    knobs.choice("mask_divergence", divergence, {"tv", "kl"},
                 "divergence between token and not token");
    knobs.number("mask_low", low, {0.0, 1e6},
                 "largest divergence downwards that a negative advantage still pushes on");
    knobs.number("mask_high", high, {0.0, 1e6},
                 "largest divergence upwards that a positive advantage still pushes on");
    knobs.number("mask_cap", cap, {1.0, 1e9}, "largest weight of a token");
    knobs.choice("mask_anchor", anchor, {"old", "rollout"},
                 "policy the divergence is measured from");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    // Rounded log-probs may be above 0; they are held at 0, so that every column gives a finite
    // loss.
    const at::Tensor log_p = micro_batch.logprob.detach().clamp_max(0.0), p = log_p.exp();
    const at::Tensor log_q = (anchor == Anchor::old
                                  ? micro_batch.old_logprob
                                  : micro_batch.take(micro_batch.step.columns.rollout_logprob))
                                 .clamp_max(0.0),
                     q = log_q.exp();
    at::Tensor up = p - q <= high, down = p - q >= -low;
    if (divergence == Divergence::kl) {
      const at::Tensor rest =
          (1.0 - q) * ((1.0 - q).clamp_min(1e-12) / (1.0 - p).clamp_min(1e-12)).log();
      const at::Tensor b = q * (log_q - log_p) + rest;
      up = (b <= high).logical_or(p <= q), down = (b <= low).logical_or(p >= q);
    }
    const at::Tensor keep = at::where(micro_batch.advantage > 0, up, down);
    return {-keep.to(at::kDouble) * ratio.detach().clamp_max(cap) * micro_batch.advantage *
                micro_batch.logprob,
            keep.logical_not()};
  }
};

}  // namespace rollcall::objective
