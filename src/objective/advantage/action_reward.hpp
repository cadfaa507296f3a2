// Advantage action_reward: the outcome compared with the group, plus the reward of the turn itself.
//   A_ik = (o_i - mean_g) / (std_g + adv_eps) + action_weight r_ik for every turn but the last of its
//   rollout, which has only the outcome;  o_i: what the rollout was paid at its last turn
// Source: MasHost (HRPO), arXiv:2506.08507 (the relative advantage of the whole, and action-wise
//   rewards for each node and edge; adding both with one weight is inferred).
// Shapes: column turn/reward [K] -> [N].   Knobs: action_weight, adv_eps.
// What differs from turn_center: a turn's reward is not compared with the rewards of other turns,
//   so a cost is a cost even where every rollout has it. At action_weight 0 it is group_norm of the
//   outcome.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct ActionReward {
  static constexpr std::string_view
      name = "action_reward",
      formula = "A_ik = (o_i - mean_g) / (std_g + eps) + action_weight r_ik, o the last turn's pay";
  double weight = 1.0, eps = 1e-6;

  void bind(Knobs& knobs) {
    knobs.number("action_weight", weight, {0.0, 1e6}, "weight of what a turn was paid");
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to the group's standard deviation");
    knobs.needs.column(column::turn_reward);
    knobs.reward_use.reads_turn_rewards = true;
  }

  at::Tensor operator()(const Step& step) const {
    const TurnShape& turns = step.turns;
    const StepShape& shape = step.shape;
    const at::Tensor paid = step.turn_reward(), end = turns.ends();
    const at::Tensor o = turns.rollout_sum(at::where(end, paid, 0.0)),
                     several = shape.over_rollouts(shape.group_size > 1);
    const at::Tensor centred = o - shape.over_rollouts(shape.group_mean(o)) * several,
                     variance = shape.group_sum(centred.square()) /
                                (shape.group_size - 1.0).clamp_min(1.0);
    const at::Tensor a =
        centred / at::where(several, shape.over_rollouts(variance.sqrt()) + eps, 1.0);
    return turns.over_tokens(turns.over_turns(a) + weight * paid.masked_fill(end, 0.0));
  }
};

}  // namespace rollcall::objective
