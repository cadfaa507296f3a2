// Regularizer policy_drift: the divergence of the old policy from the current one, with a capped
// pull.
//   d = lp - old, rho = exp(d), c = drift_cap:  loss += drift_coef * (rho - 1 - d) up to rho = 1 +
//   c, beyond it straight on with slope c,
//   so that the derivative in lp is drift_coef * min(rho - 1, c)
// Source: CPGD, arXiv:2505.12504, sections 4.1 and 4.3 (loss sg(min(rho - 1, c)) lp, of which this
//   is the integral); siiRL's code: c 2, coefficient 0.001.
// Shapes: [M] -> [M].   Knobs: drift_coef, drift_cap.
// What differs from kl with k3 and anchor old: there k3 estimates the divergence of the current
//   policy from the old one, and its derivative is 1 - 1 / rho.
#pragma once

#include "objective/pieces.hpp"

#include <cmath>

namespace rollcall::objective {

struct PolicyDrift {
  static constexpr std::string_view
      name = "policy_drift",
      formula = "drift_coef * (rho - 1 - ln rho), derivative drift_coef * min(rho - 1, drift_cap)";
  double coef = 0.001, cap = 2.0;

  void bind(Knobs& knobs) {
    knobs.loss_use.idle_on_policy();
    knobs.number("drift_coef", coef, {0.0, 1e6}, "weight of the divergence in the loss");
    knobs.number("drift_cap", cap, {0.0, 1e6}, "largest rho - 1 that a token is pulled back with");
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const at::Tensor d = micro_batch.logprob - micro_batch.old_logprob;
    const at::Tensor inside = d.clamp_max(std::log1p(cap)), beyond = d - inside;
    return coef * (inside.expm1() - inside + cap * beyond);
  }
};

}  // namespace rollcall::objective
