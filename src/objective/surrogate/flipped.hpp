// Surrogate flipped: a token to be learnt is weighted by the inverse of its ratio.
//   A > 0: L = -sg(min(1 / rho, flip_cap)) rho / sg(rho) A, and 0 where rho > 1 + clip_high
//   A < 0: L = -max(rho, 1 - clip_low) A;  where rho > dual_clip: L = -dual_clip rho / sg(rho) A
// Source: Asymmetric Importance Sampling Policy Optimization, arXiv:2510.06062: mask, flip, soft
//   dual clip; 0.2 and both caps 3 are from its released code, which widens the interval to 0.4 for
//   the fifth of the tokens with the largest entropy.
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: clip_low, clip_high, flip_cap, dual_clip.
// What differs from clip: among good tokens, those that the policy is losing are pushed most; a cap
//   bounds a token's weight and leaves it a derivative, for either sign.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Flipped {
  static constexpr std::string_view
      name = "flipped",
      formula = "A > 0: L = -sg(min(1/rho, flip_cap)) rho/sg(rho) A; A < 0: dual clip";
  double low = 0.2, high = 0.2, cap = 3.0, dual = 3.0;

  void bind(Knobs& knobs) {
    knobs.number("clip_low", low, {0.0, 1.0},
                 "how far the ratio may fall below 1 before a negative advantage stops pushing");
    knobs.number("clip_high", high, {0.0, 1e6},
                 "how far the ratio may rise above 1 before a positive advantage stops pushing");
    knobs.number("flip_cap", cap, {1.0, 1e6}, "largest flipped weight");
    knobs.number("dual_clip", dual, {1.0, 1e6},
                 "largest weight with which a negative advantage pushes");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor frozen = ratio.detach(), good = micro_batch.advantage > 0;
    const at::Tensor flipped = frozen.reciprocal().clamp_max(cap) * (ratio / frozen) *
                               (frozen <= 1.0 + high).to(at::kDouble);
    const at::Tensor bad =
        at::where(frozen > dual, dual * (ratio / frozen), ratio.clamp_min(1.0 - low));
    const at::Tensor clipped = at::where(
        good, frozen > 1.0 + high, (micro_batch.advantage < 0).logical_and(frozen < 1.0 - low));
    return {-micro_batch.advantage * at::where(good, flipped, bad), clipped};
  }
};

}  // namespace rollcall::objective
