// Reward mode_reward: a correct answer in the short mode earns more than one in the thinking mode.
//   r_i = reward_short if correct and the first token is short_token, reward_think if correct
//   otherwise, reward_wrong if not
// Source: Thinkless, arXiv:2505.13379, section 3.2 (1, 0.5, -1).
// Shapes: [B] -> [B].   Knobs: short_token, reward_short, reward_think, reward_wrong.
// What differs: it replaces the reward. The first policy token is the mode. Until short_token is
//   set, every rollout counts as thinking.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct ModeReward {
  static constexpr std::string_view
      name = "mode_reward",
      formula = "r_i = short / think / wrong by correctness and first token";
  double token = -1.0, brief = 1.0, think = 0.5, wrong = -1.0;

  void bind(Knobs& knobs) {
    knobs.number("short_token", token, {0.0, 1e9}, "id of the token that opens the short mode");
    knobs.must_be_set();
    knobs.number("reward_short", brief, {-1e6, 1e6}, "reward of a correct short answer");
    knobs.number("reward_think", think, {-1e6, 1e6},
                 "reward of a correct answer in the thinking mode");
    knobs.number("reward_wrong", wrong, {-1e6, 1e6}, "reward of a wrong answer");
    knobs.needs.column(column::correct);
  }

  ShapedReward operator()(const Step& step) const {
    at::Tensor is_short = at::zeros({step.shape.rollouts}, at::kDouble);
    if (step.columns.token.defined())
      is_short = step.shape.rollout_sum((step.columns.token == std::int64_t(token))
                                            .logical_and(step.shape.place == 0)
                                            .to(at::kDouble));
    return {at::where(step.named(column::correct) > 0, think + (brief - think) * is_short, wrong),
            {},
            {}};
  }
};

}  // namespace rollcall::objective
