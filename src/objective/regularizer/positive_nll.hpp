// Regularizer positive_nll: likelihood of the correct rollouts.
//   loss -= positive_nll_coef * mean of lp over the trained tokens of rollouts with correct = 1
// Source: VAPO, arXiv:2504.05118, "positive example LM loss" (coefficient 0.1).
// Shapes: [M] -> [M].   Knobs: positive_nll_coef.
// What differs from forward_kl: it uses correct rollouts only (column correct), as a mean over
//   their tokens. It is this mean under aggregate token-mean, which averages it again; under
//   another aggregate the rollouts have the weights of that aggregate.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>

namespace rollcall::objective {

struct PositiveNll {
  static constexpr std::string_view
      name = "positive_nll",
      formula = "-positive_nll_coef * mean of lp over tokens of correct rollouts";
  double coef = 0.1;

  void bind(Knobs& knobs) {
    knobs.number("positive_nll_coef", coef, {0.0, 1e6},
                 "weight of the likelihood of correct rollouts");
    knobs.needs.column(column::correct);
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const at::Tensor& correct = micro_batch.step.named(column::correct);
    const double counted =
        std::max(1.0, (correct * micro_batch.step.trained_length).sum().item<double>());
    return (-coef * micro_batch.step.normalizer.tokens / counted) *
           micro_batch.over_tokens(micro_batch.take_rollouts(correct)) * micro_batch.logprob;
  }
};

}  // namespace rollcall::objective
