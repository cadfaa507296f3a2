// Which pieces of reward a scheduler hears, and which of them it can hear before the update.
#pragma once

#include <string_view>

namespace rollcall::objective {

enum class Sight {
  rollouts,  ///< reads the step's rollouts and verdicts: known as soon as they are scored
  update,    ///< reads what only the update knows: a pass of a model, or what is remembered of a prompt
  unheard    ///< pays nothing by itself: it standardises, charges a divergence or moves a coefficient
};

/// Of a piece of reward, by name; throws std::logic_error for one that the table lacks.
Sight sight_of(std::string_view reward);

}  // namespace rollcall::objective
