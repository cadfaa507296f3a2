// Advantage optimal_token_baseline: at every position the baseline weighs rollouts by the gradient
// energy that they have accumulated up to it.
//   b_gt = sum_i r_i W_it / (sum_i W_it + eps) over the rollouts of the group that reach t;  W_it =
//   sum_{s <= t} (1 - 2 p_is + sum_v p_v^2);  A_it = r_i - b_gt
// Source: Optimal Token Baseline, arXiv:2602.07078, as in verl (eps 1e-8, zero tail handled).
// Shapes: [B], [N] column sum_squares -> [N].   Knobs: adv_eps.
// What differs from group_center: every token has its own baseline, which minimises the variance.
//   Where only one rollout of the group is long enough, b is 0, so a group of one keeps its plain
//   reward. The energy of a token is at least (1 - p)^2; rounded columns may fall short of that and
//   are corrected.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct OptimalTokenBaseline {
  static constexpr std::string_view
      name = "optimal_token_baseline",
      formula = "A_it = r_i - sum_g r W_t / (sum_g W_t + adv_eps), W = cumsum(1 - 2p + sum p^2)";
  double eps = 1e-8;

  void bind(Knobs& knobs) {
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to the sum of weights");
    knobs.needs.column(column::sum_squares);
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor returns = step.shape.over_tokens(step.reward);
    if (step.shape.tokens == 0) return returns;
    const at::Tensor p = step.columns.old_logprob.clamp_max(0.0).exp();
    const at::Tensor energy =
        at::maximum(1.0 - 2.0 * p + step.named(column::sum_squares), (1.0 - p).square());
    const at::Tensor running = energy.cumsum(0),
                     start = step.columns.offsets.slice(0, 0, step.shape.rollouts)
                                 .index_select(0, step.shape.rollout);
    const at::Tensor weight =
        running - running.index_select(0, start) + energy.index_select(0, start);
    const at::Tensor address =
        step.columns.group.index_select(0, step.shape.rollout) * (step.shape.place.max() + 1) +
        step.shape.place;
    const auto [unused, cell] = at::_unique(address, /*sorted=*/true, /*return_inverse=*/true);
    const auto sum = [&, cell = cell](const at::Tensor& x) {
      return at::zeros({step.shape.tokens}, at::kDouble)
          .index_add(0, cell, x)
          .index_select(0, cell);
    };
    const at::Tensor baseline = sum(returns * weight) / (sum(weight) + eps);
    return returns - at::where(sum(at::ones_like(weight)) > 1, baseline, 0.0);
  }
};

}  // namespace rollcall::objective
