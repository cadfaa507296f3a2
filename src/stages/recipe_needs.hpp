// Recipes that are another row without a section of the run file: a run whose name promises what it does not do is refused.
#pragma once

#include "core/run_config.hpp"

namespace rollcall::stages {

/// Throws ConfigError where the run file lacks what its recipe is made of, with the setting that is missing. A run from an archive takes its steps from there.
void check_recipe_needs(const RunConfig& config);

}  // namespace rollcall::stages
