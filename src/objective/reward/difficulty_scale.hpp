// Reward difficulty_scale: rewards of hard prompts are scaled up before any comparison.
//   r'_i = r_i (1 + hard_gain h) (1 + gap_gain d);  h = 1 - tracked success of the prompt;  d =
//   max(0, reference_reward - mean_g r)
// Source: GRPO-S of Inverse RL with Dynamic Reward Scaling, arXiv:2503.18991: a factor by the
//   data's hardness and by how far the policy's answers fall short of the reference's. Its form of
//   both was not found: h here is what the run knows of the prompt instead of a similarity of
//   texts, and the factor is inferred.
// Shapes: [B] -> [B]; columns prior [B].   Knobs: hard_gain, gap_gain, reference_reward.
// What differs from the scheduler's weight of a group: it acts before normalisation. An advantage
//   that divides by the group's own spread cancels it. An advantage that divides by a spread of the
//   step does not. At gains of 0 the reward stays the same to the bit.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct DifficultyScale {
  static constexpr std::string_view
      name = "difficulty_scale",
      formula = "r_i (1 + hard_gain (1 - prior)) (1 + gap_gain max(0, reference - mean_g r))";
  double hard_gain = 1.0, gap_gain = 1.0, reference = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("hard_gain", hard_gain, {0.0, 1e6},
                 "how much more a prompt counts that was never solved before");
    knobs.number(
        "gap_gain", gap_gain, {0.0, 1e6},
        "how much more a prompt counts whose answers earn 1 less than its reference answer");
    knobs.number("reference_reward", reference, {-1e6, 1e6}, "what the reference answer earns");
    knobs.reward_use.takes_largest([this] { return gap_gain > 0.0; }, [this] { return reference; },
                                   "reference_reward");
    knobs.needs.column(column::prior);
  }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor hard = 1.0 - step.shape.group_mean(step.named(column::prior)),
                     gap = (reference - step.shape.group_mean(step.reward)).clamp_min(0.0);
    return {
        step.reward * step.shape.over_rollouts((1.0 + hard_gain * hard) * (1.0 + gap_gain * gap)),
        {},
        {}};
  }
};

}  // namespace rollcall::objective
