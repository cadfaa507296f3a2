// What rank 0 looks at before a run: splits that are empty, and settings that cost without a use.
#pragma once

#include "comm/communicator.hpp"
#include "stages/job.hpp"
#include "stages/rank.hpp"

#include <string>
#include <vector>

namespace rollcall::stages {

/// Throws ConfigError where an evaluation that is asked for has no prompts.
void check_splits(const Job& job, JobKind kind);

/// Of a run that trains: each with what it costs and what to do. Nothing of them is wrong.
/// `cores`: that a rank may use (comm::NodeShare).
std::vector<std::string> costly_settings(const Job& job, int cores);

}  // namespace rollcall::stages
