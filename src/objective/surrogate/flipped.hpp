// Surrogate flipped: a token to be learnt is weighted by the inverse of its ratio.
//   A > 0: L = -sg(min(1 / rho, flip_cap)) rho / sg(rho) A, and 0 where rho > 1 + clip_high
//   A < 0: L = max(-rho A, -max(rho, 1 - clip_low) A), at most -dual_clip A
// Source: Asymmetric Importance Sampling Policy Optimization, arXiv:2510.06062: mask, flip, soft dual clip. That the soft clip has the dual
//   clip's bound 3 is chosen here.
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: clip_low, clip_high, flip_cap, dual_clip.
// What differs from clip: among good tokens, those that the policy is losing are pushed most; the cap bounds their weight, not their derivative away.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Flipped {
  static constexpr std::string_view name = "flipped", formula = "A > 0: L = -sg(min(1/rho, flip_cap)) rho/sg(rho) A; A < 0: dual clip";
  double low = 0.2, high = 0.28, cap = 3.0, dual = 3.0;

  void bind(Knobs& knobs) {
    knobs.number("clip_low", low, {0.0, 1.0}, "how far the ratio may fall below 1 before a negative advantage stops pushing");
    knobs.number("clip_high", high, {0.0, 1e6}, "how far the ratio may rise above 1 before a positive advantage stops pushing");
    knobs.number("flip_cap", cap, {1.0, 1e6}, "largest flipped weight");
    knobs.number("dual_clip", dual, {1.0, 1e6}, "largest ratio that a negative advantage may push against");
  }

  SurrogateLoss operator()(const Leaf& leaf, const at::Tensor& ratio) const {
    const at::Tensor frozen = ratio.detach(), good = leaf.advantage > 0;
    const at::Tensor flipped = frozen.reciprocal().clamp_max(cap) * (ratio / frozen) * (frozen <= 1.0 + high).to(at::kDouble);
    const at::Tensor bad = ratio.clamp(1.0 - low, dual);
    const at::Tensor clipped = at::where(good, frozen > 1.0 + high, (leaf.advantage < 0).logical_and((frozen < 1.0 - low).logical_or(frozen > dual)));
    return {-leaf.advantage * at::where(good, flipped, bad), clipped};
  }
};

}  // namespace rollcall::objective
