// Ratio sampler: probability of the token now over the one that was stored when it was sampled.
//   rho_it = exp(lp_it - rollout_it), log-ratio held within +-20
// Source: Rollout replay, arXiv:2506.05316, and Skywork R1V2, arXiv:2504.16656, whose replayed rollouts keep their behaviour log-probs; the bypass mode
//   of verl's rollout correction.
// Shapes: [M] -> [M].   Knobs: none.
// What differs from token: the trust interval lies around the policy that sampled the rollout, however old, and not around the step's own.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct SamplerRatio {
  static constexpr std::string_view name = "sampler", formula = "rho_it = exp(lp_it - rollout_it)";

  at::Tensor operator()(const Leaf& leaf) const { return (leaf.logprob - leaf.take(leaf.step.columns.rollout_logprob)).clamp(-20.0, 20.0).exp(); }
};

}  // namespace rollcall::objective
