// Reward calibrated: the reward relative to that of a reference answer of the same prompt, between
// 0 and 1.
//   r_i = sigmoid(r_i - reference_reward)
// Source: The Perfect Blend (CGPO), arXiv:2409.20370 (calibrated reward).
// Shapes: [B] -> [B].   Knobs: reference_reward.
// What differs from the plain reward: prompts are on one scale. The paper scores the reference
//   answer with its reward model. A verifier's reference answer is right, so its reward is one
//   number for all prompts: 1, or 1 + task.format_weight if form counts.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Calibrated {
  static constexpr std::string_view name = "calibrated",
                                    formula = "r_i = sigmoid(r_i - reference_reward)";
  double reference = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("reference_reward", reference, {-1e6, 1e6},
                 "what the verifier gives a reference answer");
    knobs.reward_use.takes_largest([] { return true; }, [this] { return reference; },
                                   "reference_reward");
  }

  ShapedReward operator()(const Step& step) const {
    return {(step.reward - reference).sigmoid(), {}, {}};
  }
};

}  // namespace rollcall::objective
