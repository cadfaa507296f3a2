// Advantage shared_steps: a step that several conversations of a prompt took alike gets the mean of
// their advantages.
//   A_it = mean over the turns of i's prompt with the index, state and action of t's turn of
//   (r_j - mean_g) / (std_g + adv_eps), j the rollout of such a turn
// Source: SALT, arXiv:2510.20022 (trajectories as a graph; two points are inferred from its
//   abstract: edges merge by their mean, and the index belongs to a step).
// Shapes: [B] rewards, columns turn/state and turn/action [K] -> [N].   Knobs: adv_eps.
// What differs from group_norm: a step that a success and a failure have in common is pushed
//   neither way, and a step in which they differ keeps the whole advantage. A turn without a state
//   or an action is not shared, so single answers get group_norm.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct SharedSteps {
  static constexpr std::string_view
      name = "shared_steps",
      formula =
          "A = mean of (r_j - mean_g) / (std_g + eps) over the turns of one index, state and "
          "action";
  double eps = 1e-6;

  void bind(Knobs& knobs) {
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to the group's standard deviation");
    knobs.needs.column(column::turn_state);
    knobs.needs.column(column::turn_action);
  }

  at::Tensor operator()(const Step& step) const {
    const TurnShape& turns = step.turns;
    const at::Tensor state = turns.numbers(step.named(column::turn_state)),
                     action = turns.numbers(step.named(column::turn_action)),
                     place = TurnShape::paired(turns.over_turns(step.shape.group), turns.index);
    const at::Tensor known = (state > 0).logical_and(action > 0);
    const at::Tensor same =
        at::where(known, TurnShape::paired(place, TurnShape::paired(state, action)),
                  -1 - at::arange(turns.turns));
    const at::Tensor a = turns.over_turns((step.reward - step.baseline()) / divisor(step));
    return turns.over_tokens(
        a - turns.centred(a, same, TurnShape::Centre::mean, TurnShape::Alone::zero, eps));
  }

 private:
  /// [B] 1 for a group of one, which keeps its plain reward
  at::Tensor divisor(const Step& step) const {
    return at::where(step.shape.over_rollouts(step.shape.group_size > 1), step.spread() + eps, 1.0);
  }
};

}  // namespace rollcall::objective
