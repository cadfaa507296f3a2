// Reward coverage: a turn earns for reaching a new state, and nothing for a state that the
// conversation has already visited.
//   r_ik = coverage_weight where the state after turn k is new in the conversation, else 0;  they
//   sum to F(S_i) - F(s_i0) with F(S) = coverage_weight |S|
// Source: Submodular Reinforcement Learning (SubPO), arXiv:2307.13372, theorem 1: the marginal gains
//   F(S + s) - F(S) of a monotone submodular F along a trajectory take the place of the reward; F
//   counts visited states here.
// Shapes: columns turn/state, turn/next_state [K] -> [B] and [K].   Knobs: coverage_weight.
// What differs: it replaces the reward and pays turns. Visiting a state again earns nothing,
//   whereas a sum of rewards by state would pay each visit. A turn whose next state is unknown
//   earns nothing.
#pragma once

#include "objective/pieces.hpp"

#include <unordered_set>

namespace rollcall::objective {

struct Coverage {
  static constexpr std::string_view
      name = "coverage",
      formula = "r_ik = coverage_weight where turn k reaches a state that rollout i has not seen";
  double weight = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("coverage_weight", weight, {0.0, 1e6}, "reward of a state that is new");
    knobs.needs.column(column::turn_state);
    knobs.needs.column(column::turn_next_state);
    knobs.needs.column(column::turn_reward);
    knobs.reward_use.turns_paid = true;
  }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor gain = weight * first_visits(step);
    ShapedReward shaped;
    shaped.reward = step.turns.rollout_sum(gain);
    // The rollout's reward counts at its last turn, and its parts belong to other turns.
    shaped.turn_reward =
        gain - at::where(step.turns.ends(), step.turns.over_turns(shaped.reward), 0.0);
    return shaped;
  }

 private:
  /// [K] 1 where the turn reaches a new state, else 0
  static at::Tensor first_visits(const Step& step) {
    const TurnShape& turns = step.turns;
    const at::Tensor states = turns.numbers(step.named(column::turn_state)).contiguous(),
                     next = turns.numbers(step.named(column::turn_next_state)).contiguous(),
                     visits = at::zeros({turns.turns}, at::kDouble);
    const auto *state = states.const_data_ptr<std::int64_t>(),
               *after = next.const_data_ptr<std::int64_t>(),
               *index = turns.index.const_data_ptr<std::int64_t>();
    auto* out = visits.data_ptr<double>();
    std::unordered_set<std::int64_t> seen;
    for (std::int64_t k = 0; k < turns.turns; ++k) {
      if (index[k] == 0) seen.clear();
      seen.insert(state[k]);
      if (after[k] > 0 && seen.insert(after[k]).second) out[k] = 1.0;
    }
    return visits;
  }
};

}  // namespace rollcall::objective
