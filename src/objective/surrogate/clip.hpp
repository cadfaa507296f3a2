// Surrogate clip: the pessimistic clipped objective.
//   L = max(-rho A, -clip(rho, m - clip_low, m + clip_high) A), m = 1;  with dual_clip c, where A <
//   0: L = min(L, -c A)
//   clip_centre old: m = exp(old - rollout), for ratios against the sampler: the interval lies
//   around the old policy (ReMix, arXiv:2507.06892)
// Source: Proximal Policy Optimization, arXiv:1707.06347, eq. 7 (one width, 0.2); two widths: DAPO,
//   arXiv:2503.14476, eq. 10; dual clip: arXiv:1912.09729, eq. 5 (c = 3 there; verl has it always
//   on, here it is off).
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: clip_low, clip_high, clip_centre, dual_clip.
// What differs: the reference form. A token counts as clipped where the bound is strictly the
//   larger loss, or the dual bound the smaller one.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Clip {
  static constexpr std::string_view name = "clip",
                                    formula =
                                        "L = max(-rho A, -clip(rho, 1-clip_low, 1+clip_high) A)";
  enum class Centre { one, old } centre = Centre::one;
  double low = 0.2, high = 0.2;
  double dual = 0.0;

  void bind(Knobs& knobs) {
    knobs.number("clip_low", low, {0.0, 1.0},
                 "how far the ratio may fall below 1 before a negative advantage stops pushing");
    knobs.number("clip_high", high, {0.0, 1e6},
                 "how far the ratio may rise above 1 before a positive advantage stops pushing");
    knobs.choice("clip_centre", centre, {"one", "old"},
                 "middle of the interval: 1, or the old policy's probability over the sampler's");
    knobs.number("dual_clip", dual, {0.0, 1e6},
                 "largest ratio that a negative advantage may push against; 0: no such bound");
    knobs.refuse_if([this] { return dual != 0.0 && dual <= 1.0 + high; },
                    "surrogate.dual_clip is not above 1 + surrogate.clip_high",
                    "it would cut off tokens inside the trust interval",
                    "use 0 (off) or a larger bound; the usual value is 3");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor free = -micro_batch.advantage * ratio;
    const at::Tensor bounded =
        -micro_batch.advantage * (centre == Centre::one ? ratio.clamp(1.0 - low, 1.0 + high)
                                                        : around_old(micro_batch, ratio));
    at::Tensor loss = at::maximum(free, bounded);
    at::Tensor clipped = bounded.detach() > free.detach();
    if (dual > 0.0) {
      const at::Tensor cap = -dual * micro_batch.advantage;
      const at::Tensor capped = (micro_batch.advantage < 0).logical_and(loss.detach() > cap);
      loss = at::where(capped, cap, loss);
      clipped = clipped.logical_or(capped);
    }
    return {loss, clipped};
  }

 private:
  at::Tensor around_old(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor middle =
        (micro_batch.old_logprob - micro_batch.take(micro_batch.step.columns.rollout_logprob))
            .clamp(-20.0, 20.0)
            .exp();
    return at::minimum(at::maximum(ratio, middle - low), middle + high);
  }
};

}  // namespace rollcall::objective
