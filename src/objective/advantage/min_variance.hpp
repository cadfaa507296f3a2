// Advantage min_variance: rewards minus the baseline that minimises the variance of the
// importance-weighted gradient, over the group's spread.
//   A_i = (r_i - b_g) / std_g,  b_g = sum_i w_i^2 n_i r_i / sum_i w_i^2 n_i,  w_i = exp(sum_t
//   (current_it - rollout_it)), log-weight within +-20
//   n_i = sum_t (1 - 2 p_it + sum over the vocabulary of p^2), p_it = exp(old_it)
// Source: Stable Asynchrony (VCPO), arXiv:2602.17616. The squared norm of the rollout's score,
//   which the paper takes from its gradient, is replaced by n, the sum of the squared norms of the
//   scores in the logits (column sum_squares), which is known before the backward pass. The
//   released scripts divide by the spread (grad_baselining_norm_by_std, with n, where it is above
//   1e-8); their code squares a weight that the gradient's norm already contains.
// Shapes: [B] rewards, [N] columns current_logprob, sum_squares -> [N].   Knobs: none.
// What differs from group_center: rollouts with a large importance weight and uncertain rollouts
//   weigh more in the baseline. A group of one keeps its plain reward. Where no rollout has any
//   weight, the baseline is the mean. w is computed under the policy that the optimizer step starts
//   from.
// Acts at every update, on the update's rollouts.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct MinVariance {
  static constexpr std::string_view name = "min_variance",
                                    formula = "A_i = (r_i - sum w^2 n r / sum w^2 n) / std_g";

  void bind(Knobs& knobs) {
    knobs.needs.column(column::current_logprob);
    knobs.needs.column(column::sum_squares);
  }

  at::Tensor operator()(const Step& step) const {
    const auto& c = step.columns;
    const at::Tensor p = c.old_logprob.clamp_max(0.0).exp();
    const at::Tensor norm = step.shape.rollout_sum(
        1.0 - 2.0 * p + at::maximum(step.named(column::sum_squares), p.square()));
    const at::Tensor weight =
        (2.0 * step.shape.rollout_sum(step.named(column::current_logprob) - c.rollout_logprob)
                   .clamp(-20.0, 20.0))
            .exp() *
        norm;
    const at::Tensor mean =
        at::where(step.shape.group_sum(weight) > 0, step.shape.group_mean(step.reward, weight),
                  step.shape.group_mean(step.reward));
    const at::Tensor spread = step.spread(true);
    return step.shape.over_tokens(
        (step.reward - step.shape.over_rollouts(mean * (step.shape.group_size > 1))) /
        at::where(spread > 1e-8, spread, 1.0));
  }
};

}  // namespace rollcall::objective
