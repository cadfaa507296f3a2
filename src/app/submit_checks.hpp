// What a job would find out only after it had waited in a queue: rollcall submit looks at it first.
#pragma once

#include "app/job_script.hpp"
#include "core/run_config.hpp"

#include <vector>

namespace rollcall::app {

/// Reads the data, the grader and the model of the runs, and holds their settings against the site
/// and against an earlier start in their folders. Throws ConfigError, InputError, EnvironmentError.
void check_runs(const std::vector<RunConfig>& runs, const BatchJob& job);

}  // namespace rollcall::app
