// Advantage random_sign: a control: +1 or -1 for a rollout, regardless of its reward.
//   A_i = +1 where u_i < 1/2, else -1;  u_i addressed by seed, step and rollout
// Source: none, because no method uses it. scripts/train_recipes runs rows with it, and they must
//   not learn.
// Shapes: [B] -> [N].   Knobs: none.
// What differs: the rewards are not read, so anything that a row still learns has another cause.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct RandomSign {
  static constexpr std::string_view name = "random_sign",
                                    formula = "A_i = +1 or -1 at random: a control";
  static constexpr std::uint64_t purpose = 0x516E;  // address of the random numbers

  // Every reward is accepted, because a control replaces nothing but the advantage of a row.
  void bind(Knobs& knobs) {
    knobs.reward_use.reads_token_rewards = knobs.reward_use.reads_turn_rewards = true;
  }

  at::Tensor operator()(const Step& step) const {
    return step.shape.over_tokens(
        at::where(step.uniform_rollouts(purpose) < 0.5, 1.0, -1.0).to(at::kDouble));
  }
};

}  // namespace rollcall::objective
