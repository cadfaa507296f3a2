// Surrogate geo_mean: one ratio for each rollout: the geometric mean of its token ratios, where
// each token ratio is bounded on the side to which it is pushed.
//   d = ln rho;  e = sign(A) min(sign(A) d, sign(A) clip(d, -clip_low, clip_high));  L_i =
//   -mean_t(A) exp(mean_t(e))
// Source: Geometric-Mean Policy Optimization, arXiv:2507.20673 (bounds e^-0.4 and e^0.4); verl's
//   policy loss geo_mean.
// Shapes: ratio [M], advantage [M] -> [M], the rollout's loss on each of its tokens.
// Knobs: clip_low, clip_high.
// What differs from clip with ratio sequence: tokens are bounded one by one and before the mean, in
//   log space.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct GeoMean {
  static constexpr std::string_view
      name = "geo_mean",
      formula = "L_i = -mean_t(A) exp(mean_t(ln rho, bounded where pushed))";
  double low = 0.4, high = 0.4;

  void bind(Knobs& knobs) {
    knobs.number(
        "clip_low", low, {0.0, 20.0},
        "how far the log-ratio may fall below 0 before a negative advantage stops pushing");
    knobs.number(
        "clip_high", high, {0.0, 20.0},
        "how far the log-ratio may rise above 0 before a positive advantage stops pushing");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor d = ratio.log(), good = micro_batch.advantage > 0,
                     bad = micro_batch.advantage < 0;
    const at::Tensor clipped =
        good.logical_and(d.detach() > high).logical_or(bad.logical_and(d.detach() < -low));
    const at::Tensor bounded = at::where(clipped, d.detach().clamp(-low, high), d);
    const at::Tensor loss =
        -micro_batch.rollout_mean(micro_batch.advantage) * micro_batch.rollout_mean(bounded).exp();
    return {micro_batch.over_tokens(loss), clipped};
  }
};

}  // namespace rollcall::objective
