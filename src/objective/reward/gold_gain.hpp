// Reward gold_gain: a turn earns by how much it raises the policy's own probability of the
// reference answer.
//   p_ik = exp(mean log-prob of the reference answer after turn k),  r_ik = gold_weight (p_ik -
//   p_i,k-1) for every turn but the last of its rollout, where p_i,-1 is that before the first turn;
//   the last turn has the rollout's reward
// Source: Information Gain-based Policy Optimization, after the catalogue's reading of its released
//   code: the last turn, which answers, has the outcome alone.
// Shapes: [K] gold_logprob, [B] gold_logprob_before -> [K].   Knobs: gold_weight.
// What differs from a reward of the rollout: a search that finds the answer is told apart from one
//   that finds nothing, also where all rollouts of the group fail or succeed. What the environment
//   paid for single turns counts in the rollout's reward alone. What rollouts are paid, and so what
//   a scheduler hears, stays. A rollout of one turn gains nothing.
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
    // The turn before lies one place before, except of a rollout's first turn.
    const at::Tensor before = at::where(step.turns.index > 0, after.roll(1), first);
    ShapedReward shaped;
    shaped.turn_reward = (weight * (after - before)).masked_fill(step.turns.ends(), 0.0);
    return shaped;
  }
};

}  // namespace rollcall::objective
