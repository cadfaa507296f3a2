// Reward progress: an attempt earns its own reward plus its gain over the previous attempt.
//   r_ik += progress_alpha (r_ik - r_i,k-1) for every turn but the first;  the first turn of several
//   earns first_pays r_i0
// Source: SCoRe (Training Language Models to Self-Correct via RL), arXiv:2409.12917, section 5
//   (alpha 10; its stage I maximises only the second attempt: first_pays 0).
// Shapes: [K] turn/reward -> [K].   Knobs: progress_alpha, first_pays.
// What differs from the sum of both: repeating an answer earns nothing, and spoiling a right one
//   costs. The rewards of rollouts stay the same, and so do the rewards from which a scheduler
//   learns. A rollout of one turn gains nothing.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Progress {
  static constexpr std::string_view
      name = "progress",
      formula = "r_ik += progress_alpha (r_ik - r_i,k-1), the first turn earns first_pays r_i0";
  double alpha = 10.0, first_pays = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("progress_alpha", alpha, {0.0, 1e6}, "weight of what a turn gained");
    knobs.number("first_pays", first_pays, {0.0, 1e6}, "weight of the first turn's own reward");
    knobs.needs.column(column::turn_reward);
    knobs.reward_use.turns_paid = true;
  }

  ShapedReward operator()(const Step& step) const {
    const TurnShape& turns = step.turns;
    const at::Tensor r = step.turn_reward(), first = turns.index == 0;
    ShapedReward shaped;
    // The previous turn is one place before, except for a rollout's first turn.
    shaped.turn_reward = at::where(first, (first_pays - 1.0) * r, alpha * (r - r.roll(1)))
                             .masked_fill(first.logical_and(turns.ends()), 0.0);
    return shaped;
  }
};

}  // namespace rollcall::objective
