// A batch script for PBS, written from the manual of OpenPBS. No PBS server has run such a script
// yet.
#pragma once

#include "app/runs/job_script.hpp"

#include <string>

namespace rollcall::app {

/// The script of a job with one run. Throws ConfigError if PBS has no place for a value: a quality
/// of service, a constraint, options of sbatch, a name with unusual characters.
std::string pbs_script(const BatchJob& job);

}  // namespace rollcall::app
