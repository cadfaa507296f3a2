// Weight reject: tokens or rollouts on which the sampler and the old policy disagree too much are
// not trained on.
//   x = ln w = old - rollout, within +-20;  k1: reject_low <= exp(x) <= reject_high;  k2 = x^2 / 2
//   <= reject_high;  k3 = exp(x) - 1 - x <= reject_high
//   token: each token by itself;  seq_sum, seq_mean: the rollout by the sum or mean of x, k2 or k3;
//   seq_max: the rollout by its worst token
//   rejected tokens leave the step (drop), or have the weight 0 but stay in the denominators and
//   the regularizers (zero)
// Source: verl's rollout correction (rollout_rs), which drops: "Geo-RS" is k1 with seq_mean;
//   seq-mask-tis of NeMo-RL and OpenRLHF is the same mask as a weight of 0.
// Shapes: [N] -> [N].   Knobs: reject_statistic, reject_scope, reject_low, reject_high,
//   reject_outside.
// What differs from importance: the rollouts and tokens that stay are not reweighted.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Reject {
  static constexpr std::string_view
      name = "reject",
      formula = "keep_it = statistic of old - rollout within [reject_low, reject_high]";
  enum class Statistic { k1, k2, k3 };
  enum class Scope { token, seq_sum, seq_mean, seq_max };
  enum class Outside { drop, zero };
  Statistic statistic = Statistic::k1;
  Scope scope = Scope::seq_sum;
  Outside outside = Outside::drop;
  double low = 0.5, high = 2.0;

  void bind(Knobs& knobs) {
    knobs.loss_use.idle_on_policy();
    knobs.choice("reject_statistic", statistic, {"k1", "k2", "k3"},
                 "k1: the ratio itself; k2, k3: a divergence");
    knobs.choice("reject_scope", scope, {"token", "seq_sum", "seq_mean", "seq_max"},
                 "what is judged, and by which summary of its tokens");
    knobs.number("reject_low", low, {0.0, 1.0}, "smallest ratio kept (k1 only)");
    knobs.number("reject_high", high, {0.0, 1e9}, "largest ratio (k1) or divergence (k2, k3) kept");
    knobs.choice("reject_outside", outside, {"drop", "zero"},
                 "what becomes of the rejected: they leave the step, or weigh 0");
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor within = judged(step);
    return outside == Outside::drop ? TokenWeight{{}, within} : TokenWeight{within, {}};
  }

 private:
  at::Tensor judged(const Step& step) const {
    const at::Tensor x =
        (step.columns.old_logprob - step.columns.rollout_logprob).clamp(-20.0, 20.0);
    const at::Tensor value = statistic == Statistic::k1   ? x
                             : statistic == Statistic::k2 ? 0.5 * x.square()
                                                          : x.exp() - 1.0 - x;
    if (scope == Scope::token) return kept(value);
    if (scope == Scope::seq_max)
      return step.shape.over_tokens(
          (step.shape.rollout_sum(1.0 - kept(value)) == 0).to(at::kDouble));
    return step.shape.over_tokens(kept(scope == Scope::seq_sum ? step.shape.rollout_sum(value)
                                                               : step.shape.rollout_mean(value)));
  }
  at::Tensor kept(const at::Tensor& value) const {
    const at::Tensor measured = statistic == Statistic::k1 ? value.exp() : value;
    const at::Tensor within = measured <= high;
    return (statistic == Statistic::k1 ? within.logical_and(measured >= low) : within)
        .to(at::kDouble);
  }
};

}  // namespace rollcall::objective
