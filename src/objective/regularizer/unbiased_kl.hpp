// Regularizer unbiased_kl: k3 from the reference policy, weighted by the importance of the token.
//   loss += unbiased_kl_coef * exp(lp - rollout) (exp(d) - d - 1),  d = reference - lp; both
//   log-ratios within +-20
// Source: DeepSeek-V3.2, arXiv:2512.02556, eq. 7; TRL's use_bias_correction_kl. The paper sets the
//   coefficient by domain; 0.04 is DeepSeekMath's.
// Shapes: [M] -> [M].   Knobs: unbiased_kl_coef.
// What differs from kl with k3: value and derivative are unbiased for tokens that another policy
//   sampled. The derivative is rho (lp - reference), so a token that has become unlikely is not
//   pulled back without bound.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct UnbiasedKl {
  static constexpr std::string_view name = "unbiased_kl",
                                    formula =
                                        "unbiased_kl_coef * exp(lp - rollout) k3(reference - lp)";
  double coef = 0.04;

  void bind(Knobs& knobs) {
    knobs.number("unbiased_kl_coef", coef, {0.0, 1e6}, "weight of the divergence in the loss");
    knobs.needs.column(column::reference_logprob);
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const at::Tensor d =
        (micro_batch.take(micro_batch.step.named(column::reference_logprob)) - micro_batch.logprob)
            .clamp(-20.0, 20.0);
    const at::Tensor importance =
        (micro_batch.logprob - micro_batch.take(micro_batch.step.columns.rollout_logprob))
            .clamp(-20.0, 20.0)
            .exp();
    return coef * importance * (d.exp() - d - 1.0);
  }
};

}  // namespace rollcall::objective
