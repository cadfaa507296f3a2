// Checks whether rollouts can fork in the way that a run file asks for.
#pragma once

#include "base/errors/faults.hpp"
#include "core/run_config.hpp"

namespace rollcall::run {

/// Reports an unknown environment.forks and one that could never fork in this run: without replies,
/// in groups of one rollout or of the best of a pool, or on a device that does not report the
/// values that the rule reads.
void check_forks(const RunConfig& config, Faults& faults);

}  // namespace rollcall::run
