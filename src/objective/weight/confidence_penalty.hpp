// Weight confidence_penalty: a wrong answer that training has made likelier is pushed down harder.
//   w_it = 1 + ace_alpha softplus(c_i) where A_it < 0, else 1;  c_i = sum_t (current_it -
//   reference_it), held within +-20, frozen
// Source: ACE, arXiv:2602.21420 (softplus; the size of alpha is not in the abstract, here 1).
// Shapes: [N] -> [N].   Knobs: ace_alpha.
// What differs from none: only negative advantages gain weight, by how far the policy has moved
//   towards the error since the reference.
// Acts at every update, on the update's rollouts.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct ConfidencePenalty {
  static constexpr std::string_view
      name = "confidence_penalty",
      formula = "w_it = 1 + ace_alpha softplus(sum_t (current - reference)) where A < 0";
  double alpha = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("ace_alpha", alpha, {0.0, 1e6}, "weight of the penalty");
    knobs.needs.column(column::current_logprob);
    knobs.needs.column(column::reference_logprob);
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor shift = step.shape
                                 .rollout_sum(step.named(column::current_logprob) -
                                              step.named(column::reference_logprob))
                                 .clamp(-20.0, 20.0);
    return {at::where(step.advantage < 0, step.shape.over_tokens(1.0 + alpha * shift.exp().log1p()),
                      1.0),
            {}};
  }
};

}  // namespace rollcall::objective
