// Ratio behaviour: probability now over the probability under the policy that generated the tokens.
//   token: rho_it = exp(lp_it - rollout_it);  product: the rollout's product of them;  mean: their
//   geometric mean; log-ratio within +-20
// Source: importance sampling; verl's rollout correction in bypass mode ("the sampler is the old
//   policy"); product as in TOPR, arXiv:2503.14286.
// Shapes: [M] -> [M].   Knobs: behaviour_scope.
// What differs from token: the old policy is not needed, and neither is a second forward pass. The
//   interval of a clip is centred on the sampling policy. With product, a surrogate that
//   differentiates the ratio pushes each token by the whole rollout.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct BehaviourRatio {
  static constexpr std::string_view
      name = "behaviour",
      formula = "rho_it = exp(lp_it - rollout_it), or its product or mean over the rollout";
  enum class Scope { token, product, mean };
  Scope scope = Scope::token;

  void bind(Knobs& knobs) {
    knobs.choice("behaviour_scope", scope, {"token", "product", "mean"},
                 "token ratios, their product or their geometric mean");
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const at::Tensor d =
        micro_batch.logprob - micro_batch.take(micro_batch.step.columns.rollout_logprob);
    if (scope == Scope::token) return d.clamp(-20.0, 20.0).exp();
    return micro_batch.over_tokens(
        (scope == Scope::product ? micro_batch.rollout_sum(d) : micro_batch.rollout_mean(d))
            .clamp(-20.0, 20.0)
            .exp());
  }
};

}  // namespace rollcall::objective
