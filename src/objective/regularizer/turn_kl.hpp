// Regularizer turn_kl: the divergence from the reference, with a separate weight for the first
// turn.
//   loss += c_k (exp(d) - d - 1), d = reference - lp;  c_0 = turn_kl_first, c_k = turn_kl_coef for
//   k > 0, k the turn of the token in its rollout
//   d is held within +-20 and the estimate at most at 10; beyond these bounds there is no derivative
// Source: SCoRe, arXiv:2409.12917, section 4: its stage I holds the first attempt near the base
//   model by 0.1, its stage II has 0.01 on both. The numbers are from memory and were not checked
//   against the paper.
// Shapes: column reference_logprob [N] -> [M].   Knobs: turn_kl_first, turn_kl_coef.
// What differs from kl: the first attempt cannot be changed to make the second look like a gain. A
//   rollout of one turn has the weight of the first.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct TurnKl {
  static constexpr std::string_view
      name = "turn_kl",
      formula = "turn_kl_first k3 on a rollout's first turn, turn_kl_coef k3 on later ones";
  double first = 0.01, later = 0.01;

  void bind(Knobs& knobs) {
    knobs.number("turn_kl_first", first, {0.0, 1e6}, "weight of the divergence in the first turn");
    knobs.number("turn_kl_coef", later, {0.0, 1e6}, "its weight in later turns");
    knobs.needs.column(column::reference_logprob);
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const Step& step = micro_batch.step;
    const at::Tensor is_first =
        micro_batch.take(step.turns.over_tokens((step.turns.index == 0).to(at::kDouble)));
    const at::Tensor d =
        (micro_batch.take(step.named(column::reference_logprob)) - micro_batch.logprob)
            .clamp(-20.0, 20.0);
    return (later + (first - later) * is_first) * (d.exp() - d - 1.0).clamp_max(10.0);
  }
};

}  // namespace rollcall::objective
