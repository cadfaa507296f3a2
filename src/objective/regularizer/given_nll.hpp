// Regularizer given_nll: likelihood of tokens that were given and not sampled.
//   loss -= given_nll_coef * mean of lp over the trained given tokens; given_of correct: over those
//   of rollouts with correct = 1
// Source: InT, arXiv:2601.14209: likelihood of an answer's beginning with the corrected step at its
//   end (its learning rate and mixture were not found: coefficient 1).
// Shapes: columns given [N], correct [B] -> [M].   Knobs: given_nll_coef, given_of.
// What differs from positive_nll: it goes by tokens and not by rollouts. It is this mean under
//   aggregate token-mean; under another one rollouts have the weights of that aggregate.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>

namespace rollcall::objective {

struct GivenNll {
  static constexpr std::string_view name = "given_nll",
                                    formula = "-given_nll_coef * mean of lp over given tokens";
  enum class Of { all, correct };
  double coef = 1.0;
  Of of = Of::all;

  void bind(Knobs& knobs) {
    knobs.number("given_nll_coef", coef, {0.0, 1e6}, "weight of the likelihood of given tokens");
    knobs.choice("given_of", of, {"all", "correct"},
                 "rollouts whose given tokens are learnt: all, or those that ended well");
    knobs.needs.column(column::given);
    knobs.needs.column([this] { return of == Of::correct; }, column::correct);
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const Step& step = micro_batch.step;
    at::Tensor learnt = step.named(column::given);
    if (of == Of::correct) learnt = learnt * step.shape.over_tokens(step.named(column::correct));
    const at::Tensor trained = step.keep.defined() ? learnt * step.keep : learnt;
    const double counted = std::max(1.0, trained.sum().item<double>());
    return (-coef * step.normalizer.tokens / counted) * micro_batch.take(learnt) *
           micro_batch.logprob;
  }
};

}  // namespace rollcall::objective
