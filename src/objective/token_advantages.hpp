// The advantages of a prepared step, token by token, for views that show them.
#pragma once

#include "objective/objective.hpp"

#include <vector>

namespace rollcall::objective {

/// [N] advantage of each token, before the scheduler's weights.
std::vector<double> token_advantages(const Objective::Prepared& prepared);

}  // namespace rollcall::objective
