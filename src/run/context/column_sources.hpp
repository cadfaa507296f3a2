// Where the columns that an objective reads come from, and which ranks need the rollouts of a step
// for it.
#pragma once

#include "core/run_config.hpp"
#include "method/method.hpp"

#include <string>

namespace rollcall::run {

/// Whether a stage provides the column: from the rollouts of the step, or by a forward pass.
bool is_provided(const std::string& column);

/// Whether the objective asks for a column of a forward pass, which the files do not hold.
bool runs_passes(const method::Objective& objective);

/// Whether the objective or the scheduler's sampler reads the tracked success, and with it the keys
/// of [success].
bool reads_tracked_success(const RunConfig& config, const method::Objective& objective);

/// Who holds the rollouts of a step.
enum class StepResidency { every_rank, leader };

/// Whether ranks beside the leader compute with a step's rollouts, and not only with micro-batches
/// that it deals.
StepResidency step_at(const RunConfig& config, const method::Objective& objective);

}  // namespace rollcall::run
