// Reward entropy_controller: leaves the rewards alone and moves the coefficient of regularizer
// adaptive_entropy.
//   c += entropy_step where the step's mean entropy is below entropy_goal, c -= entropy_step where
//   it is above;
//   c starts at entropy_start and stays within 0 and entropy_most
// Source: Skywork-OR1, arXiv:2505.22312; goal 0.2, step 1e-4, most 0.005 and start 0 are from its
//   released scripts.
// Shapes: none change.   Knobs: entropy_goal, entropy_step, entropy_start, entropy_most.
// What differs from none: the next step's adaptive_entropy finds the new coefficient and the goal
//   in the statistics entropy_coef and entropy_target.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>

namespace rollcall::objective {

struct EntropyController {
  static constexpr std::string_view
      name = "entropy_controller",
      formula = "c +- entropy_step towards entropy_goal, 0 <= c <= entropy_most";
  double goal = 0.2, by = 1e-4, start = 0.0, most = 0.005;

  void bind(Knobs& knobs) {
    knobs.number("entropy_goal", goal, {0.0, 1e6}, "mean entropy that is low enough to act on");
    knobs.number("entropy_step", by, {0.0, 1e6}, "change of the coefficient a step");
    knobs.number("entropy_start", start, {0.0, 1e6}, "coefficient before the first change");
    knobs.number("entropy_most", most, {0.0, 1e6}, "largest coefficient");
    knobs.needs.column(column::old_entropy);
    knobs.moves("entropy_coef",
                [this](const Step& step) { return step.statistic("entropy_coef", start); });
  }

  ShapedReward operator()(const Step& step) const {
    const double mean = step.named(column::old_entropy).sum().item<double>() /
                        double(std::max<std::int64_t>(step.shape.tokens, 1));
    double coef = step.statistic("entropy_coef", start);
    if (step.shape.tokens > 0 && mean != goal)
      coef = std::clamp(coef + (mean < goal ? by : -by), 0.0, most);
    return {{}, {}, {{"entropy_coef", coef}, {"entropy_target", goal}}};
  }
};

}  // namespace rollcall::objective
