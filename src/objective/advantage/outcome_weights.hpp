// Advantage outcome_weights: one constant for success, one for failure.
//   A_i = positive_weight if the verifier accepted the answer, else -negative_weight
// Source: The Surprising Effectiveness of Negative Reinforcement, arXiv:2506.01347, section 4
//   (W-REINFORCE: 0.1 and 1).
// Shapes: [B] -> [N].   Knobs: positive_weight, negative_weight.
// What differs from group_center: there is no baseline, so easy and hard prompts push alike. (0, 1)
//   is NSR and (1, 0) is PSR; with weight keep_advantage, rollouts of the other kind leave the
//   step.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct OutcomeWeights {
  static constexpr std::string_view name = "outcome_weights",
                                    formula =
                                        "A_i = positive_weight if correct, else -negative_weight";
  double positive = 0.1, negative = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("positive_weight", positive, {0.0, 1e6}, "advantage of a success");
    knobs.number("negative_weight", negative, {0.0, 1e6}, "minus the advantage of a failure");
    trains_on_correct(knobs);
  }

  at::Tensor operator()(const Step& step) const {
    return step.shape.over_tokens(step.named(column::correct) * (positive + negative) - negative);
  }
};

}  // namespace rollcall::objective
