// Surrogate gradient_preserving: clip with bounds that still let a derivative of bounded size
// through.
//   A > 0 and rho > 1 + clip_high: L = -beta_high (1 + clip_high) rho / sg(rho) A
//   A < 0 and rho < 1 - clip_low: L = -beta_low (1 - clip_low) rho / sg(rho) A
//   else L = -rho A;  with dual_clip c, where A < 0 and rho > c: L = -c A
//   below clipped: the second line is clip's, L = -(1 - clip_low) A, without a derivative
// Source: GPPO in Klear-Reasoner, arXiv:2508.07629 (both scales 1, dual clip 10 in its scripts);
//   CE-GPPO, arXiv:2509.20712 (scales beta); AEPO, arXiv:2510.14545 (below clipped).
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: clip_low, clip_high, beta_low, beta_high,
//   dual_clip, below.
// What differs from clip: at scales of 1 the loss is the same, but a bounded token keeps the
//   derivative that it has at its bound.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct GradientPreserving {
  static constexpr std::string_view name = "gradient_preserving",
                                    formula = "clip with bounds beta (1 +- clip) rho / sg(rho)";
  enum class Below { preserved, clipped } below = Below::preserved;
  double low = 0.2, high = 0.28, beta_low = 1.0, beta_high = 1.0, dual = 3.0;

  void bind(Knobs& knobs) {
    knobs.number("clip_low", low, {0.0, 1.0},
                 "how far the ratio may fall below 1 before a negative advantage is bounded");
    knobs.number("clip_high", high, {0.0, 1e6},
                 "how far the ratio may rise above 1 before a positive advantage is bounded");
    knobs.number("beta_low", beta_low, {0.0, 1e6}, "scale of what passes below the lower bound");
    knobs.number("beta_high", beta_high, {0.0, 1e6}, "scale of what passes above the upper bound");
    knobs.number("dual_clip", dual, {0.0, 1e6},
                 "largest ratio that a negative advantage may push against; 0: no such bound");
    knobs.choice("below", below, {"preserved", "clipped"},
                 "whether a ratio below the lower bound lets a derivative through");
    knobs.refuse_if([this] { return dual != 0.0 && dual <= 1.0 + high; },
                    "surrogate.dual_clip is not above 1 + surrogate.clip_high",
                    "it would cut off tokens inside the trust interval",
                    "use 0 (off) or a larger bound; the usual value is 3");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor frozen = ratio.detach(), one = ratio / frozen,
                     good = micro_batch.advantage > 0, bad = micro_batch.advantage < 0;
    at::Tensor bounded =
        at::where(good.logical_and(frozen > 1.0 + high), beta_high * (1.0 + high) * one, ratio);
    const at::Tensor at_bound =
        below == Below::clipped ? at::full_like(frozen, 1.0 - low) : beta_low * (1.0 - low) * one;
    bounded = at::where(bad.logical_and(frozen < 1.0 - low), at_bound, bounded);
    if (dual <= 0.0) return {-micro_batch.advantage * bounded, {}};
    const at::Tensor capped = bad.logical_and(frozen > dual);
    return {-micro_batch.advantage * at::where(capped, frozen.clamp_max(dual), bounded), capped};
  }
};

}  // namespace rollcall::objective
