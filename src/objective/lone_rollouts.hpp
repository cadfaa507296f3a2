// The effect of a rollout that is the only rollout of its prompt.
#pragma once

#include "method/method.hpp"
#include "objective/objective.hpp"

namespace rollcall::objective {

/// Evaluates the objective on small made-up steps. They show whether a verdict changes the
/// derivatives of the other rollouts of its prompt, and whether it changes the derivative of a
/// rollout that is alone. An objective for which such a step cannot be made counts as one that does
/// not compare rollouts.
method::LoneRollouts lone_rollouts(const Objective& objective);

}  // namespace rollcall::objective
