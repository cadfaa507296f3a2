// Surrogate shaped_off_policy: own answers have the clipped loss, and refinements of them a shaped
// probability without a bound.
//   refinements (column derived): L = -A p / (p + shape_gamma), p = exp(lp);  others: clip(rho, A)
// Source: Critique-GRPO, arXiv:2506.03106, and its released code (f(p) = p / (p + 0.1) in place of
//   the ratio for refinements, no clip, both in one mean over tokens); the shaping is LUFFY's,
//   arXiv:2504.14945.
// Shapes: [M] -> [M].   Knobs: shape_gamma, and the knobs of clip.
// What differs from clip: the derivative by lp is gamma p / (p + gamma)^2, which is 1/4 at p = gamma
//   and falls on both sides, so tokens that the policy would hardly have produced without the
//   feedback are lifted most.
#pragma once

#include "core/derivation.hpp"
#include "objective/surrogate/clip.hpp"

#include <cmath>

namespace rollcall::objective {

struct ShapedOffPolicy {
  static constexpr std::string_view name = "shaped_off_policy",
                                    formula =
                                        "own: clip(rho, A); refinements: -A p / (p + shape_gamma)";
  Clip clip;
  double gamma = 0.1;

  void bind(Knobs& knobs) {
    clip.bind(knobs);
    knobs.loss_use.is_policy_gradient = false;
    knobs.number("shape_gamma", gamma, {1e-6, 1e6},
                 "probability at which a token of a refinement is pushed most");
    knobs.needs.column(column::derived);
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const SurrogateLoss own = clip(micro_batch, ratio);
    const at::Tensor refined = micro_batch.over_tokens(
        micro_batch.take_rollouts(micro_batch.step.named(column::derived)) ==
        double(DerivedKind::refinement));
    // p / (p + gamma) as a sigmoid, which is finite for any log-prob
    const at::Tensor shaped = (micro_batch.logprob - std::log(gamma)).sigmoid();
    return {at::where(refined, -micro_batch.advantage * shaped, own.loss),
            own.clipped.logical_and(refined.logical_not())};
  }
};

}  // namespace rollcall::objective
