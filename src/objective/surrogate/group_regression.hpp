// Surrogate group_regression: log-ratios are fitted to advantages by least squares.
//   x_i = A_i - beta q_i, minus its mean over the group (or not);  L_i = scale k x_i^2;  k = 1, or
//   n / (n - 1): over all pairs of the group
//   q = sum or mean over t of lp - anchor;  standardised: x_i = A_i - (q_i - mean q) / sqrt(var q +
//   std_floor^2), var with n - 1 as group_norm's
// Source: REBEL, arXiv:2404.16767; CoPG, arXiv:2406.19185; GVPO, arXiv:2504.19599; Reg-GRPO,
//   arXiv:2506.07464; SPPO, arXiv:2405.00675. By sum_{i<j} (z_i - z_j)^2 = n sum_i (z_i - mean z)^2
//   the pairwise ones take linear time.
// Shapes: [M] -> [M], the rollout's loss on each of its tokens.   Knobs: regression_beta,
//   regression_anchor, regression_pool, regression_centre, regression_pairs, regression_scale,
//   standardise, std_floor.
// What differs: there is no ratio and no clipping, so rollouts of any sampler serve. The minimum of
//   the loss is the anchor reweighted by exp(A / beta). A policy beyond it is pulled back.
#pragma once

#include "objective/groups.hpp"
#include "objective/pieces.hpp"

namespace rollcall::objective {

struct GroupRegression {
  static constexpr std::string_view
      name = "group_regression",
      formula = "L_i = scale (A_i - beta q_i - mean_g(A - beta q))^2, q = sum_t (lp - anchor)";
  enum class Anchor { old, reference };
  enum class Pool { sum, mean };
  enum class Switch { off, on };
  double beta = 1.0, scale = 1.0, floor = 1e-2;
  Anchor anchor = Anchor::old;
  Pool pool = Pool::sum;
  Switch centre = Switch::on, pairs = Switch::off, standardise = Switch::off;

  void bind(Knobs& knobs) {
    knobs.number("regression_beta", beta, {0.0, 1e6}, "advantage that a log-ratio of 1 stands for");
    knobs.number("regression_scale", scale, {0.0, 1e9}, "factor of the square");
    knobs.number("std_floor", floor, {1e-9, 1e6},
                 "least spread of the log-ratios when they are standardised");
    knobs.choice("regression_anchor", anchor, {"old", "reference"},
                 "policy the log-ratio is taken against");
    knobs.choice("regression_pool", pool, {"sum", "mean"},
                 "log-ratio of a rollout from its tokens");
    knobs.choice("regression_centre", centre, {"off", "on"},
                 "subtract the group's mean of the residual: no partition function is needed");
    knobs.choice("regression_pairs", pairs, {"off", "on"},
                 "n / (n - 1): the mean over pairs instead of over rollouts");
    knobs.choice("standardise", standardise, {"off", "on"},
                 "log-ratios standardised within the group; regression_beta does not count then");
    knobs.needs.column([this] { return anchor == Anchor::reference; }, column::reference_logprob);
    knobs.needs.whole_groups = true;
    knobs.loss_use.is_policy_gradient = false;
    knobs.loss_use.reads_ratio = false;
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch,
                           const at::Tensor& /*ratio*/) const {
    const at::Tensor present = micro_batch.present(),
                     n = micro_batch.over_group(micro_batch.group_sum(present));
    const auto centred = [&](const at::Tensor& z) {
      return z - micro_batch.over_group(masked_group_mean(micro_batch, z, present));
    };
    const at::Tensor target =
        anchor == Anchor::old ? micro_batch.old_logprob
                              : micro_batch.take(micro_batch.step.named(column::reference_logprob));
    const at::Tensor q = rollout_score(
        micro_batch, pool == Pool::sum ? RolloutScore::log_ratio_sum : RolloutScore::log_ratio,
        target);
    const at::Tensor wanted = micro_batch.rollout_mean(micro_batch.advantage);
    at::Tensor x = wanted - beta * q;
    if (standardise == Switch::on) {
      const at::Tensor z = centred(q);
      const at::Tensor variance =
          micro_batch.over_group(micro_batch.group_sum(z.square() * present)) /
          (n - 1).clamp_min(1);
      x = wanted - z / (variance + floor * floor).sqrt();
    } else if (centre == Switch::on) {
      x = centred(x);
    }
    const at::Tensor square = scale * x.square() * present;
    return {
        micro_batch.over_tokens(pairs == Switch::on ? square * n / (n - 1).clamp_min(1) : square),
        {}};
  }
};

}  // namespace rollcall::objective
