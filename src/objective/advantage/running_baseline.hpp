// Advantage running_baseline: rewards minus a moving average of the mean reward.
//   A_i = r_i - b;  then b <- m b + (1 - m) mean(r), over the step's rollouts with tokens
// Source: Williams 1992, "Simple statistical gradient-following algorithms" (reinforcement
//   baseline).
// Shapes: [B] -> [N].   Knobs: baseline_momentum, baseline_start.
// What differs from group_center: there are no groups. The baseline comes from earlier steps
//   (statistic reward_mean), so it is independent of the sample.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct RunningBaseline {
  static constexpr std::string_view name = "running_baseline",
                                    formula = "A_i = r_i - b; b <- m b + (1 - m) mean(r)";
  double momentum = 0.95, start = 0.0;

  void bind(Knobs& knobs) {
    knobs.number("baseline_momentum", momentum, {0.0, 1.0},
                 "share m of the old baseline that stays");
    knobs.number("baseline_start", start, {-1e6, 1e6}, "baseline of the first step");
    knobs.moves("reward_mean",
                [this](const Step& step) { return step.statistic("reward_mean", start); });
  }

  Advantage operator()(const Step& step) const {
    const double baseline = step.statistic("reward_mean", start);
    const at::Tensor counted = (step.shape.length > 0).to(at::kDouble);
    const double count = counted.sum().item<double>();
    Advantage a(step.shape.over_tokens(step.reward - baseline));
    if (count > 0)
      a.statistics["reward_mean"] =
          momentum * baseline +
          (1.0 - momentum) * (step.reward * counted).sum().item<double>() / count;
    return a;
  }
};

}  // namespace rollcall::objective
