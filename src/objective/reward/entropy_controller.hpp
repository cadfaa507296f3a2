// Reward entropy_controller: leaves the rewards alone and moves the coefficient of regularizer adaptive_entropy.
//   c += entropy_step where the step's mean entropy is below entropy_goal, c -= entropy_step where it is above, never below 0;  c starts at entropy_start
// Source: Skywork-OR1, arXiv:2505.22312 (goal 0.2, step 0.005, start 0).
// Shapes: none change.   Knobs: entropy_goal, entropy_step, entropy_start.
// What differs from none: the next step's adaptive_entropy finds the new coefficient and the goal in the statistics entropy_coef and entropy_target.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>

namespace rollcall::objective {

struct EntropyController {
  static constexpr std::string_view name = "entropy_controller", formula = "c +- entropy_step towards entropy_goal, c >= 0";
  double goal = 0.2, by = 0.005, start = 0.0;

  void bind(Knobs& knobs) {
    knobs.number("entropy_goal", goal, {0.0, 1e6}, "mean entropy that is low enough to act on");
    knobs.number("entropy_step", by, {0.0, 1e6}, "change of the coefficient a step");
    knobs.number("entropy_start", start, {0.0, 1e6}, "coefficient before the first change");
    knobs.needs_column(column::old_entropy);
  }

  ShapedReward operator()(const Step& step) const {
    const double mean = step.named(column::old_entropy).sum().item<double>() / double(std::max<std::int64_t>(step.tokens, 1));
    double coef = step.statistic("entropy_coef", start);
    if (step.tokens > 0 && mean != goal) coef = std::max(0.0, coef + (mean < goal ? by : -by));
    return {{}, {}, {{"entropy_coef", coef}, {"entropy_target", goal}}};
  }
};

}  // namespace rollcall::objective
