// Weight drop_uncertain: rollouts that are too undecided on average carry no policy gradient.
//   w_it = 0 where mean_t H_it of the sampling policy is above entropy_limit, else 1
// Source: GTPO, arXiv:2508.03772, section 4 (ln 2; applies where the initial policy lies below it).
// Shapes: [N] column old_entropy -> [N].   Knobs: entropy_limit.
// What differs from a dropped rollout: it stays in the denominators and the regularizers, as in the paper's mean over the group.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct DropUncertain {
  static constexpr std::string_view name = "drop_uncertain", formula = "w_it = mean_t H_it <= entropy_limit";
  double limit = 0.6931471805599453;

  void bind(Knobs& knobs) {
    knobs.number("entropy_limit", limit, {0.0, 1e6}, "largest mean entropy of a rollout that is learned from, nats");
    knobs.needs_column(column::old_entropy);
  }

  TokenWeight operator()(const Step& step) const {
    return {step.over_tokens((step.rollout_mean(step.named(column::old_entropy)) <= limit).to(at::kDouble)), {}};
  }
};

}  // namespace rollcall::objective
