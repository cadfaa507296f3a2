// Checks that rollcall submit makes, so that a job does not fail only after it has waited in a
// queue.
#pragma once

#include "app/runs/job_script.hpp"
#include "core/run_config.hpp"

#include <vector>

namespace rollcall::app {

/// Reads the data and the models' shapes of the runs, and compares their settings with the site and
/// with an earlier start in their folders. Throws one ConfigError for everything that is wrong with
/// the run files, InputError, and EnvironmentError.
void check_runs(std::vector<GivenSettings> runs, const BatchJob& job);

}  // namespace rollcall::app
