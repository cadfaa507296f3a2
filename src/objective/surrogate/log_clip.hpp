// Surrogate log_clip: the clipped objective on the logarithm of the ratio.
//   L = max(-ln(rho) A, -clip(ln(rho), ln(1 - clip_low), ln(1 + clip_high)) A)
// Source: Clipped Policy Gradient Optimization with Policy Drift (CPGD), arXiv:2505.12504.
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: clip_low, clip_high.
// What differs from clip: inside the interval the derivative is that of reinforce, so a large ratio
//   cannot amplify it.
#pragma once

#include "objective/pieces.hpp"

#include <cmath>

namespace rollcall::objective {

struct LogClip {
  static constexpr std::string_view
      name = "log_clip",
      formula = "L = max(-ln rho A, -clip(ln rho, ln(1-clip_low), ln(1+clip_high)) A)";
  double low = 0.2, high = 0.2;

  void bind(Knobs& knobs) {
    knobs.number("clip_low", low, {0.0, 0.999999},
                 "how far the ratio may fall below 1 before a negative advantage stops pushing");
    knobs.number("clip_high", high, {0.0, 1e6},
                 "how far the ratio may rise above 1 before a positive advantage stops pushing");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor d = ratio.log(), free = -micro_batch.advantage * d;
    const at::Tensor bounded = -micro_batch.advantage * d.clamp(std::log1p(-low), std::log1p(high));
    return {at::maximum(free, bounded), bounded.detach() > free.detach()};
  }
};

}  // namespace rollcall::objective
