// What each piece of reward does to the reward, and whether a scheduler hears of it.
#pragma once

#include <string_view>

namespace rollcall::objective {

enum class Sight {
  rollouts,  ///< reads the step's rollouts and verdicts: known as soon as they are scored
  update,    ///< reads what only the update knows: a pass of a model, or what is remembered of a
             ///< prompt
  unheard  ///< pays nothing by itself: it standardises, charges a divergence or moves a coefficient
};

/// What it makes of the reward that the pieces before it have left.
enum class Effect {
  changes,   ///< pays or takes on top of it, scales it or takes it away from some rollouts
  replaces,  ///< pays by something else: what was there before is gone
  leaves     ///< nothing: it moves a coefficient or remembers
};

/// Of a piece of reward, by name; both throw std::logic_error for one that the table lacks.
Sight sight_of(std::string_view reward);
Effect effect_of(std::string_view reward);

}  // namespace rollcall::objective
