// A batch script for PBS, written from the manual of OpenPBS; no PBS server has run one.
#pragma once

#include "app/runs/job_script.hpp"

#include <string>

namespace rollcall::app {

/// The script of a job with one run. Throws ConfigError where PBS has no place for a value: a
/// quality of service, a constraint, options of sbatch, a name with characters of its own.
std::string pbs_script(const BatchJob& job);

}  // namespace rollcall::app
