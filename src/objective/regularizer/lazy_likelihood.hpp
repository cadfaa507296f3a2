// Regularizer lazy_likelihood: rollouts that should not lose likelihood are pulled back once they
// have lost some.
//   loss += lazy_coef gate_i max(old_it - lp_it, 0) where A_it >= 0;  gate_i = 1 if sum_t (old_it -
//   lp_it) > lazy_threshold, else 0, frozen
// Source: LLDS, arXiv:2512.04220 (coefficient 0.2, threshold 0); a single-turn response is one
//   action, so its two gates are the same here.
// Shapes: [M] -> [M].   Knobs: lazy_coef, lazy_threshold.
// What differs from kl: it acts on one side only, for each token, and is off for rollouts that have
//   lost no likelihood as a whole or that are to be pushed down. It is zero in the first optimizer
//   step after sampling. Log-ratios are within +-20.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct LazyLikelihood {
  static constexpr std::string_view
      name = "lazy_likelihood",
      formula = "lazy_coef [sum_t (old - lp) > lazy_threshold] max(old - lp, 0) where A >= 0";
  double coef = 0.2, threshold = 0.0;

  void bind(Knobs& knobs) {
    knobs.loss_use.idle_on_policy([this] { return threshold >= 0.0; });
    knobs.number("lazy_coef", coef, {0.0, 1e6}, "weight of the lost likelihood");
    knobs.number("lazy_threshold", threshold, {-1e6, 1e6},
                 "loss of a rollout's log-probability that is free");
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const at::Tensor lost = (micro_batch.old_logprob - micro_batch.logprob).clamp(-20.0, 20.0);
    const at::Tensor gate =
        micro_batch.over_tokens(micro_batch.rollout_sum(lost.detach()) > threshold)
            .logical_and(micro_batch.advantage >= 0);
    return coef * gate.to(at::kDouble) * lost.clamp_min(0.0);
  }
};

}  // namespace rollcall::objective
