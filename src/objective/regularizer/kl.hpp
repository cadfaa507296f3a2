// Regularizer kl: an estimate of the divergence from an anchor policy, per sampled token.
//   d = anchor - lp;  k1 = -d,  k2 = d^2 / 2,  k3 = exp(d) - d - 1 (d held within +-20, k3 within +-10);  loss += kl_coef * k
//   k1+ and k3+: the value of the estimator, the derivative of k2
// Source: DeepSeekMath, arXiv:2402.03300, eq. 4 (k3 against the reference policy, kl_coef 0.04); the names: Schulman 2020, "Approximating
//   KL divergence"; bounds and "+": verl.
// Shapes: [M] -> [M].   Knobs: kl_coef, kl_estimator, kl_anchor.
// What differs from none: pulls towards the anchor: `old`, the policy at the start of the update (zero before its first optimizer step),
//   `reference`, the column reference_logprob, or `rollout`, the policy that sampled. Plain k1 is refused: its derivative in lp is 1 whatever the anchor.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Kl {
  static constexpr std::string_view name = "kl", formula = "kl_coef * k(d), d = anchor - lp";
  enum class Estimator { k1, k2, k3, k1_plus, k3_plus };
  enum class Anchor { old, reference, rollout };
  double coef = 0.04;
  Estimator estimator = Estimator::k3;
  Anchor anchor = Anchor::reference;

  void bind(Knobs& knobs) {
    knobs.number("kl_coef", coef, {0.0, 1e6}, "weight of the divergence in the loss");
    knobs.choice("kl_estimator", estimator, {"k1", "k2", "k3", "k1+", "k3+"}, "estimator of the divergence; + takes the derivative of k2");
    knobs.choice("kl_anchor", anchor, {"old", "reference", "rollout"}, "policy the divergence is measured from");
    knobs.refuse_if([this] { return estimator == Estimator::k1; }, "regularizer.kl_estimator = k1 cannot be a loss",
                    "its derivative does not depend on the anchor, so it pulls towards nothing", "use k2, k3 or k1+, which has k1's value and k2's derivative");
    knobs.needs_column([this] { return anchor == Anchor::reference; }, reference);
  }

  at::Tensor operator()(const Leaf& leaf) const {
    const at::Tensor target = anchor == Anchor::old       ? leaf.old_logprob
                              : anchor == Anchor::rollout ? leaf.take(leaf.step.columns.rollout_logprob)
                                                          : leaf.take(leaf.step.named(reference));
    const at::Tensor d = (target - leaf.logprob).clamp(-20.0, 20.0);
    const at::Tensor k2 = 0.5 * d.square();
    switch (estimator) {
      case Estimator::k1: return -coef * d;
      case Estimator::k2: return coef * k2;
      case Estimator::k3: return coef * k3(d);
      case Estimator::k1_plus: return coef * (k2 + (-d - k2).detach());
      case Estimator::k3_plus: return coef * (k2 + (k3(d) - k2).detach());
    }
    return {};
  }

 private:
  static constexpr const char* reference = "reference_logprob";
  static at::Tensor k3(const at::Tensor& d) { return (d.exp() - d - 1.0).clamp(-10.0, 10.0); }
};

}  // namespace rollcall::objective
