// The advantages of a prepared step, for those who show them.
#pragma once

#include "objective/objective.hpp"

#include <vector>

namespace rollcall::objective {

/// A of each token, [N], before the scheduler's weights.
std::vector<double> token_advantages(const Objective::Prepared& prepared);

}  // namespace rollcall::objective
