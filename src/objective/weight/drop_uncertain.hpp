// Weight drop_uncertain: rollouts that are too undecided on average carry no policy gradient.
//   w_it = 0 where mean_t H_it of the sampling policy is above entropy_limit, else 1;  always 1
//   where the first step's mean entropy was above it
// Source: GTPO, arXiv:2508.03772, section 4 (ln 2; delta_i is 1 for all where the initial policy
//   lies above it).
// Shapes: [N] column old_entropy -> [N].   Knobs: entropy_limit.
// What differs from a dropped rollout: it stays in the denominators and the regularizers, as in the
//   paper's mean over the group. The statistic first_entropy keeps the mean over the first step's
//   rollouts; it is a metric from the second step on.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::objective {

struct DropUncertain {
  static constexpr std::string_view name = "drop_uncertain",
                                    formula = "w_it = mean_t H_it <= entropy_limit";
  double limit = 0.6931471805599453;

  void bind(Knobs& knobs) {
    knobs.number("entropy_limit", limit, {0.0, 1e6},
                 "largest mean entropy of a rollout that is learned from, nats");
    knobs.needs.column(column::old_entropy);
    knobs.moves("first_entropy",
                [](const Step& step) { return step.statistic("first_entropy", NAN); });
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor mean = step.shape.rollout_mean(step.named(column::old_entropy)),
                     counted = (step.shape.length > 0).to(at::kDouble);
    const double here =
        (mean * counted).sum().item<double>() / std::max(1.0, counted.sum().item<double>());
    const double first = step.statistic("first_entropy", here);
    TokenWeight weight;
    if (first <= limit) weight.factor = step.shape.over_tokens((mean <= limit).to(at::kDouble));
    return weight.statistics["first_entropy"] = first, weight;
  }
};

}  // namespace rollcall::objective
