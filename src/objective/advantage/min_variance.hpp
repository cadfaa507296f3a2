// Advantage min_variance: rewards minus the baseline that minimises the variance of the importance-weighted gradient.
//   A_i = r_i - b_g,  b_g = sum_i w_i^2 n_i r_i / sum_i w_i^2 n_i,  w_i = exp(sum_t (old_it - rollout_it)), log-weight within +-20
//   n_i = sum_t (1 - 2 p_it + sum over the vocabulary of p^2), p_it = exp(old_it)
// Source: Stable Asynchrony (VCPO), arXiv:2602.17616. The squared norm of the rollout's score, which the paper takes from its gradient, is replaced
//   by n, the sum of the squared norms of the scores in the logits (column sum_squares): what can be known before the backward pass.
// Shapes: [B] rewards -> [N].   Knobs: none.
// What differs from group_center: heavy rollouts and uncertain ones weigh more in the baseline. A group of one keeps its plain reward; where no
//   rollout has any weight, the baseline is the mean.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct MinVariance {
  static constexpr std::string_view name = "min_variance", formula = "A_i = r_i - sum w^2 n r / sum w^2 n";

  void bind(Knobs& knobs) { knobs.needs_column(column::sum_squares); }

  at::Tensor operator()(const Step& step) const {
    const auto& c = step.columns;
    const at::Tensor p = c.old_logprob.clamp_max(0.0).exp();
    const at::Tensor norm = step.rollout_sum(1.0 - 2.0 * p + at::maximum(step.named(column::sum_squares), p.square()));
    const at::Tensor weight = (2.0 * step.rollout_sum(c.old_logprob - c.rollout_logprob).clamp(-20.0, 20.0)).exp() * norm;
    const at::Tensor total = step.group_sum(weight), weighted = step.group_sum(weight * step.reward);
    const at::Tensor mean = at::where(total > 0, weighted / total.clamp_min(1e-300), step.group_mean(step.reward));
    return step.over_tokens(step.reward - step.over_rollouts(mean * (step.group_size > 1)));
  }
};

}  // namespace rollcall::objective
