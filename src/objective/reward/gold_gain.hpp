// Reward gold_gain: a turn earns by how much it raises the policy's own probability of the
// reference answer.
//   p_ik = exp(mean log-prob of the reference answer after turn k),  r_ik = gold_weight (p_ik -
//   p_i,k-1) for every turn but the last of its rollout, where p_i,-1 is the probability before the
//   first turn;  the last turn has the rollout's reward
// Source: Information Gain-based Policy Optimization, after the catalogue's reading of its released
//   code: the last turn, which answers, has only the outcome.
// Shapes: [K] gold_logprob, [B] gold_logprob_before -> [K].   Knobs: gold_weight.
// What differs from a reward of the rollout: a search that finds the answer is distinguished from
//   one that finds nothing, even if all rollouts of the group fail or succeed. The environment's
//   rewards for single turns count only in the rollout's reward. The rewards of rollouts stay the
//   same, and so do the rewards from which a scheduler learns. A rollout of one turn gains nothing.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct GoldGain {
  static constexpr std::string_view
      name = "gold_gain",
      formula = "r_ik = gold_weight (p_ik - p_i,k-1), p_ik: probability of the reference answer";
  double weight = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("gold_weight", weight, {0.0, 1e6}, "reward per unit of probability gained");
    knobs.needs.column(column::gold_logprob);
    knobs.needs.column(column::gold_logprob_before);
    knobs.reward_use.turns_paid = true;
  }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor after = step.named(column::gold_logprob).exp(),
                     first = step.turns.over_turns(step.named(column::gold_logprob_before)).exp();
    // The previous turn is one place before, except for a rollout's first turn.
    const at::Tensor before = at::where(step.turns.index > 0, after.roll(1), first);
    ShapedReward shaped;
    shaped.turn_reward = (weight * (after - before)).masked_fill(step.turns.ends(), 0.0);
    return shaped;
  }
};

}  // namespace rollcall::objective
