// Regularizer kl: an estimate of the divergence from an anchor policy, per sampled token.
//   d = anchor - lp;  k1 = -d,  k2 = d^2 / 2,  k3 = exp(d) - d - 1;  loss += kl_coef * k
//   d is held within +-20 and k3 at most at 10; beyond these bounds they have no derivative
//   k1+ and k3+: the value of the estimator, the derivative of k2;  abs: |d|;  kl_correction ratio:
//   times exp(lp - old), differentiated with it
//   kl_coef: towards kl_coef_end in proportion to the training done, (step - 1) / steps; or the
//   statistic kl_coef where a controller keeps one. With kl_coef_turn w: from the middle of both
//   down to kl_coef at share w of the training, then up to kl_coef_end
// Source: DeepSeekMath, arXiv:2402.03300, eq. 4 (k3 against the reference policy, kl_coef 0.04);
//   the names: Schulman 2020, "Approximating KL divergence"; bounds and "+": verl; correction: TRL
//   (use_bias_correction_kl); moving coefficient: OThink-MR1, arXiv:2503.16081, eq. 3.
// Shapes: [M] -> [M].   Knobs: kl_coef, kl_coef_end, kl_coef_turn, kl_estimator, kl_anchor,
//   kl_correction.
// What differs from none: pulls towards the anchor: `old`, the policy at the start of the update
//   (zero before its first optimizer step), `reference`, the column reference_logprob, or
//   `rollout`, the policy that sampled. Plain k1 is refused, because its derivative in lp is 1 for
//   every anchor.
#pragma once

#include "objective/pieces.hpp"

#include <cmath>

namespace rollcall::objective {

struct Kl {
  static constexpr std::string_view name = "kl", formula = "kl_coef * k(d), d = anchor - lp";
  double coef = 0.04, coef_end = -1.0, coef_turn = 0.0;
  enum class Estimator { k1, k2, k3, k1_plus, k3_plus, abs } estimator = Estimator::k3;
  enum class Anchor { old, reference, rollout } anchor = Anchor::reference;
  enum class Correction { none, ratio } correction = Correction::none;

  void bind(Knobs& knobs) {
    knobs.loss_use.idle_on_policy([this] { return anchor != Anchor::reference; });
    knobs.number("kl_coef", coef, {0.0, 1e6}, "weight of the divergence in the loss");
    knobs.number("kl_coef_end", coef_end, {-1.0, 1e6},
                 "weight once all steps are done, approached linearly; -1: kl_coef throughout");
    knobs.number(
        "kl_coef_turn", coef_turn, {0.0, 0.999},
        "share of the training at which the weight is least, having begun half-way to kl_coef_end");
    knobs.choice("kl_correction", correction, {"none", "ratio"},
                 "importance weight exp(lp - old) for tokens that the old policy sampled");
    knobs.choice("kl_estimator", estimator, {"k1", "k2", "k3", "k1+", "k3+", "abs"},
                 "estimator of the divergence; + takes the derivative of k2");
    knobs.choice("kl_anchor", anchor, {"old", "reference", "rollout"},
                 "policy the divergence is measured from");
    knobs.refuse_if([this] { return estimator == Estimator::k1; },
                    "regularizer.kl_estimator = k1 cannot be a loss",
                    "its derivative does not depend on the anchor, so it pulls towards nothing",
                    "use k2, k3 or k1+, which has k1's value and k2's derivative");
    knobs.needs.column([this] { return anchor == Anchor::reference; }, reference);
    knobs.moves("kl_coef", [this](const Step& step) {
      return coef_end < 0.0 ? NAN : weight(step);  // kl_controller reports its coefficient itself
    });
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const at::Tensor target = anchor == Anchor::old ? micro_batch.old_logprob
                              : anchor == Anchor::rollout
                                  ? micro_batch.take(micro_batch.step.columns.rollout_logprob)
                                  : micro_batch.take(micro_batch.step.named(reference));
    const at::Tensor d = (target - micro_batch.logprob).clamp(-20.0, 20.0);
    const at::Tensor k = weight(micro_batch.step) * estimate(d);
    return correction == Correction::none
               ? k
               : k * (micro_batch.logprob - micro_batch.old_logprob).clamp(-20.0, 20.0).exp();
  }

 private:
  double weight(const Step& step) const {
    return step.statistic("kl_coef", coef_end < 0.0 ? coef : scheduled(step.columns.progress));
  }
  double scheduled(double progress) const {
    if (progress < coef_turn)
      return (coef + coef_end) / 2 - (coef_end - coef) / 2 * progress / coef_turn;
    return coef + (coef_end - coef) * (progress - coef_turn) / (1.0 - coef_turn);
  }
  static constexpr const char* reference = "reference_logprob";
  at::Tensor estimate(const at::Tensor& d) const {
    const at::Tensor k2 = 0.5 * d.square();
    switch (estimator) {
      case Estimator::k1: return -d;
      case Estimator::k2: return k2;
      case Estimator::k3: return k3(d);
      case Estimator::k1_plus: return k2 + (-d - k2).detach();
      case Estimator::k3_plus: return k2 + (k3(d) - k2).detach();
      case Estimator::abs: return d.abs();
    }
    return {};
  }
  static at::Tensor k3(const at::Tensor& d) { return (d.exp() - d - 1.0).clamp(-10.0, 10.0); }
};

}  // namespace rollcall::objective
