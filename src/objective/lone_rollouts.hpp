// What a rollout teaches that is its prompt's only one.
#pragma once

#include "method/method.hpp"
#include "objective/objective.hpp"

namespace rollcall::objective {

/// Found by trial: whether a verdict changes what the other rollouts of its prompt teach, and
/// whether
/// one changes what a rollout teaches that is alone. A mix of pieces that a trial cannot be made of
/// counts as one that compares nothing.
method::LoneRollouts lone_rollouts(const Objective& objective);

}  // namespace rollcall::objective
