// Advantage fixed_baseline: rewards minus a constant.
//   A_i = r_i - baseline
// Source: Tapered Off-Policy REINFORCE, arXiv:2503.14286: off-policy the baseline sets the share of
//   good rollouts in the update. For rewards of 0 and 1, a baseline b is the paper's c = 2 b - 1
//   for rewards of -1 and 1, at half the size.
// Shapes: [B] rewards -> [N].   Knobs: baseline.
// What differs from group_center: the rollout is not compared with its group, so a stored rollout
//   needs no siblings, and equal rewards still teach.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct FixedBaseline {
  static constexpr std::string_view name = "fixed_baseline", formula = "A_i = r_i - baseline";
  double baseline = 0.5;

  void bind(Knobs& knobs) {
    knobs.number("baseline", baseline, {-1e6, 1e6}, "reward that is neither good nor bad");
    // Half-way between 0 and the largest reward. A different baseline is a deliberate choice.
    knobs.reward_use.takes_largest([this] { return baseline == FixedBaseline{}.baseline; },
                                   [this] { return 2.0 * baseline; }, "baseline");
  }

  at::Tensor operator()(const Step& step) const {
    return step.shape.over_tokens(step.reward - baseline);
  }
};

}  // namespace rollcall::objective
