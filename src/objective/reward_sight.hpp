// A table of reward pieces: how each changes the reward, and whether a scheduler learns from the
// result.
#pragma once

#include <string_view>

namespace rollcall::objective {

struct ShapedReward;  // pieces.hpp

/// When the result of a reward piece is known.
enum class Sight {
  rollouts,  ///< once rollouts are scored: it reads only the step's rollouts and verdicts
  update,    ///< in the update: it reads columns of a model, or results of a prompt's earlier steps
  unheard    ///< schedulers do not learn from it: it pays nothing by itself, but standardises,
             ///< charges for a divergence or moves a coefficient
};

/// How a reward piece changes the reward that earlier pieces returned.
enum class Effect {
  changes,    ///< it adds or subtracts, scales, or takes the reward away from some rollouts
  replaces,   ///< it returns a different reward; the earlier one is lost
  leaves,     ///< it leaves the reward alone, and moves a coefficient or a statistic
  pays_turns  ///< it leaves the rollout's reward alone, and pays single turns in place of the
              ///< environment's rewards for them
};

/// Both look up a reward piece by name. They throw std::logic_error for a piece that the table
/// lacks.
Sight sight_of(std::string_view reward);
Effect effect_of(std::string_view reward);

/// Whether the environment's rewards for single turns are lost once the piece has run, so that the
/// rollout's reward counts only at its last turn.
bool replaces_turns(std::string_view reward, const ShapedReward& shaped);

}  // namespace rollcall::objective
