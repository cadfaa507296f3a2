// Surrogate dynamic_clip: clip with a wider interval for less likely tokens.
//   q = exp(old);  low = (1 + sqrt(max(1 - 4 dynamic_low / q, 0))) / 2,  high = min((1 + sqrt(1 + 4
//   dynamic_high / q)) / 2, dynamic_cap)
//   L = max(-min(rho, dynamic_cap) A, -clip(rho, low, high) A)
// Source: DCPO, arXiv:2509.02333 (dynamic adaptive clipping; 0.16, 0.2 and 10): the roots of |rho
//   (rho - 1)| q <= epsilon. The cap holds for bad tokens too, as in its released code.
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: dynamic_low, dynamic_high, dynamic_cap.
// What differs from clip: a rare token may move far in ratio, because it hardly moves in
//   probability; below q = 4 dynamic_low the lower bound is 1/2.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct DynamicClip {
  static constexpr std::string_view
      name = "dynamic_clip",
      formula =
          "clip in (1 + sqrt(1 - 4 dynamic_low / q)) / 2 .. (1 + sqrt(1 + 4 dynamic_high / q)) / 2";
  double low = 0.16, high = 0.2, cap = 10.0;

  void bind(Knobs& knobs) {
    knobs.number("dynamic_low", low, {0.0, 1.0}, "epsilon of the lower bound");
    knobs.number("dynamic_high", high, {0.0, 1e6}, "epsilon of the upper bound");
    knobs.number("dynamic_cap", cap, {1.0, 1e6},
                 "largest upper bound, and largest ratio that a negative advantage pushes against");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor q = micro_batch.old_logprob.clamp(-50.0, 0.0).exp();
    const at::Tensor lower = 0.5 + 0.5 * (1.0 - 4.0 * low / q).clamp_min(0.0).sqrt();
    const at::Tensor upper = (0.5 + 0.5 * (1.0 + 4.0 * high / q).sqrt()).clamp_max(cap);
    const at::Tensor free = -micro_batch.advantage * ratio.clamp_max(cap),
                     bounded = -micro_batch.advantage * ratio.clamp(lower, upper);
    const at::Tensor capped = (micro_batch.advantage < 0).logical_and(ratio.detach() > cap);
    return {at::maximum(free, bounded), capped.logical_or(bounded.detach() > free.detach())};
  }
};

}  // namespace rollcall::objective
