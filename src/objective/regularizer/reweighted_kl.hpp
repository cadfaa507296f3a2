// Regularizer reweighted_kl: the divergence of a reward-weighted reference from the policy, which covers modes instead of seeking one.
//   u = exp(phi_i ref - lp),  loss += reweighted_coef (u log u - u + 1);  phi_i = phi_low + (phi_high - phi_low) r_i, r held within [0, 1]
// Source: RAPO, arXiv:2510.03865: forward divergence to pi_ref^phi(r). Its normaliser is left out; coefficient and phi are this table's choice.
// Shapes: [M] -> [M].   Knobs: reweighted_coef, phi_low, phi_high.
// What differs from kl: the penalty for tokens that the reference finds unlikely stays small, so the policy may leave its support. Never
//   negative, 0 at u = 1, derivative -u log u; log u within +-20.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct ReweightedKl {
  static constexpr std::string_view name = "reweighted_kl", formula = "reweighted_coef (u log u - u + 1), u = exp(phi(r) ref - lp)";
  double coef = 0.01, low = 0.5, high = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("reweighted_coef", coef, {0.0, 1e6}, "weight of the divergence in the loss");
    knobs.number("phi_low", low, {0.0, 1.0}, "exponent of the reference for reward 0");
    knobs.number("phi_high", high, {0.0, 1.0}, "exponent of the reference for reward 1");
    knobs.needs_column(column::reference_logprob);
  }

  at::Tensor operator()(const Leaf& leaf) const {
    const at::Tensor phi = low + (high - low) * leaf.over_tokens(leaf.take_rollouts(leaf.step.reward).clamp(0.0, 1.0));
    const at::Tensor log_u = (phi * leaf.take(leaf.step.named(column::reference_logprob)) - leaf.logprob).clamp(-20.0, 20.0), u = log_u.exp();
    return coef * (u * log_u - u + 1.0);
  }
};

}  // namespace rollcall::objective
