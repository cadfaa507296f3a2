// Weight ess_lr: the learning rate follows the effective sample size of the step.
//   lr_factor = sqrt(min(1, e / ess_base)) or min(1, e / ess_base);  e = (sum_i w_i)^2 / (B sum_i
//   w_i^2),  w_i = exp(sum_t (current_it - rollout_it))
// Source: Stable Asynchrony (VCPO), arXiv:2602.17616: the square root for Adam-like optimizers,
//   ess_base 1, weights not truncated.
// Shapes: [N] column current_logprob -> one number.   Knobs: ess_base, ess_rule.
// What differs from importance: tokens keep their weight, but a step that few rollouts dominate has
//   a smaller learning rate. B counts rollouts with tokens. w is computed under the policy that the
//   optimizer step starts from. Log-weights are taken relative to the largest, so that no product
//   of ratios can overflow.
// Acts at every update, on the update's rollouts: B, N and means are the update's.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::objective {

struct EssLearningRate {
  static constexpr std::string_view
      name = "ess_lr",
      formula = "lr_factor = sqrt(min(1, (sum w)^2 / (B sum w^2) / ess_base))";
  enum class Rule { sqrt, linear };
  double base = 1.0;
  Rule rule = Rule::sqrt;

  void bind(Knobs& knobs) {
    knobs.loss_use.idle_on_policy();
    knobs.number("ess_base", base, {1e-6, 1.0},
                 "effective share of the step at which the learning rate is whole");
    knobs.choice("ess_rule", rule, {"sqrt", "linear"}, "how the learning rate follows");
    knobs.needs.column(column::current_logprob);
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor all =
        step.shape.rollout_sum(step.named(column::current_logprob) - step.columns.rollout_logprob);
    const at::Tensor logs = all.masked_select(step.trained_length > 0);
    if (logs.numel() == 0) return {};
    const at::Tensor w = (logs - logs.max()).exp();
    const double share = std::min(
        1.0, (w.sum().square() / (double(logs.numel()) * w.square().sum())).item<double>() / base);
    return {{}, {}, rule == Rule::sqrt ? std::sqrt(share) : share};
  }
};

}  // namespace rollcall::objective
