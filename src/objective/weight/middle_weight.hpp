// Weight middle_weight: sentences missing in the middle of a text weigh less than those that
// continue it.
//   w_i = middle_lambda where component/masked is 1, else 1
// Source: RLPT, arXiv:2509.19249: J = E_ASR[r] + lambda E_MSR[r], lambda between 0 and 1.
// Shapes: column component/masked [B] -> [N].   Knobs: middle_lambda.
// What differs from none: there is one factor for a rollout, by the kind of question. A reward
//   cannot carry it, because the group's spread divides rewards.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct MiddleWeight {
  static constexpr std::string_view
      name = "middle_weight",
      formula = "w_i = middle_lambda where a sentence in the middle was asked for, else 1";
  double lambda = 0.5;

  void bind(Knobs& knobs) {
    knobs.number("middle_lambda", lambda, {0.0, 1.0},
                 "weight of sentences missing in the middle of a text");
    knobs.needs.column("component/masked");
  }

  TokenWeight operator()(const Step& step) const {
    return {step.shape.over_tokens(1.0 - (1.0 - lambda) * step.named("component/masked")), {}};
  }
};

}  // namespace rollcall::objective
