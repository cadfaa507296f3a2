// Regularizer reweighted_kl: the divergence of a reward-weighted reference from the policy, which
// covers modes instead of seeking one.
//   u = ref^phi / Z / pi at the sampled token,  Z = sum over the vocabulary of ref^phi;  loss +=
//   reweighted_coef (u log u - u + 1)
//   phi = phi_high where r_i is above 1/2, else phi_low
// Source: RAPO, arXiv:2510.03865: forward divergence to pi_ref^phi(r) / Z, phi increasing. The
//   paper writes Z for whole answers, but the sum over all answers cannot be computed. Here each
//   token's distribution is normalised, which is the reference at 1 / phi of the temperature.
//   Coefficient and phi were chosen for this table.
// Shapes: column reference_logprob/PHI [N], [M] -> [M].   Knobs: reweighted_coef, phi_low,
//   phi_high.
// What differs from kl: the penalty for tokens that the reference finds unlikely stays small, so
//   the policy may leave the support of the reference. It is never negative. At u = 1 the value and
//   the derivative (-u log u) are 0, so a policy that equals the reweighted reference is not
//   pulled. log u is within +-20.
#pragma once

#include "objective/pieces.hpp"

#include <fmt/format.h>

namespace rollcall::objective {

struct ReweightedKl {
  static constexpr std::string_view
      name = "reweighted_kl",
      formula = "reweighted_coef (u log u - u + 1), u = ref^phi(r) / Z / pi";
  double coef = 0.01, low = 0.5, high = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("reweighted_coef", coef, {0.0, 1e6}, "weight of the divergence in the loss");
    knobs.number("phi_low", low, {0.01, 1.0}, "exponent of the reference for rewards up to 1/2");
    knobs.number("phi_high", high, {0.01, 1.0}, "exponent of the reference for rewards above 1/2");
    knobs.needs.column(column::reference_logprob);
    knobs.needs.column([this] { return reference(low); });
    knobs.needs.column([this] { return reference(high); });
  }

  /// Name of the column with log(ref^phi / Z).
  static std::string reference(double phi) {
    return phi == 1.0 ? column::reference_logprob
                      : fmt::format("{}{}", column::flat_reference, phi);
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const Step& step = micro_batch.step;
    const at::Tensor good = micro_batch.over_tokens(micro_batch.take_rollouts(step.reward)) > 0.5;
    const at::Tensor target = at::where(good, micro_batch.take(step.named(reference(high))),
                                        micro_batch.take(step.named(reference(low))));
    const at::Tensor log_u = (target - micro_batch.logprob).clamp(-20.0, 20.0), u = log_u.exp();
    return coef * (u * log_u - u + 1.0);
  }
};

}  // namespace rollcall::objective
