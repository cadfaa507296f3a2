// What a job would find out only after it had waited in a queue: rollcall submit looks at it first.
#pragma once

#include "app/runs/job_script.hpp"
#include "core/run_config.hpp"

#include <vector>

namespace rollcall::app {

/// Reads the data and the models' shapes of the runs, and holds their settings against the site and
/// against an earlier start in their folders. Throws one ConfigError for all that is wrong with all
/// run files, InputError, EnvironmentError.
void check_runs(std::vector<GivenSettings> runs, const BatchJob& job);

}  // namespace rollcall::app
