// Weight drop_outliers: tokens with an outlying advantage do not push.
//   w_it = 0 where |A_it| > outlier_sigma, else 1
// Source: R1-Reward (StableReinforce's advantage filter), arXiv:2505.02835: advantages standardised
//   over the batch, those beyond 3 standard deviations are set to 0.
// Shapes: [N] -> [N].   Knobs: outlier_sigma.
// What differs from clipping advantages: a rare reward among many equal ones pushes nothing,
//   whereas clipping would let it push as hard as the bound allows. The advantages must be
//   standardised already. The denominators stay.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct DropOutliers {
  static constexpr std::string_view name = "drop_outliers",
                                    formula = "w_it = |A_it| <= outlier_sigma";
  double sigma = 3.0;

  void bind(Knobs& knobs) {
    knobs.number("outlier_sigma", sigma, {0.0, 1e6}, "largest standardised advantage that pushes");
  }

  TokenWeight operator()(const Step& step) const {
    return {(step.advantage.abs() <= sigma).to(at::kDouble), {}};
  }
};

}  // namespace rollcall::objective
