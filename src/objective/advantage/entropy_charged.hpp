// Advantage entropy_charged: centred rewards less the rollout's mean entropy.
//   A_i = r_i - mean_g - entropy_charge * mean_t H_it
// Source: GTPO, arXiv:2508.03772, section 4 (0.1). The paper leaves A_i open. Its code subtracts
//   the mean, and the division by the spread is commented out.
// Shapes: [B], [N] column old_entropy -> [N].   Knobs: entropy_charge.
// What differs from group_center: rollouts with a high entropy are pushed down even where all
//   rewards are equal. The entropy is a number and is not differentiated.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct EntropyCharged {
  static constexpr std::string_view name = "entropy_charged",
                                    formula = "A_i = r_i - mean_g - entropy_charge * mean_t H_it";
  double charge = 0.1;

  void bind(Knobs& knobs) {
    knobs.number("entropy_charge", charge, {0.0, 1e6}, "advantage lost per nat of mean entropy");
    knobs.needs.column(column::old_entropy);
  }

  at::Tensor operator()(const Step& step) const {
    return step.shape.over_tokens(step.reward - step.baseline() -
                                  charge *
                                      step.shape.rollout_mean(step.named(column::old_entropy)));
  }
};

}  // namespace rollcall::objective
