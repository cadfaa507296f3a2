// The programs that a run starts: reward.command and environment.command. Each is asked once before
// anything is trained, and their files are hashed.
#pragma once

#include "run/checkpoint/coordinator_state.hpp"
#include "run/context/run_context.hpp"
#include "run/folder/job_request.hpp"

namespace rollcall::run {

/// Asks reward.command for a verdict and plays a turn with environment.command, so that a program
/// that is missing, crashes or answers wrongly is noticed before the warm start. Throws ConfigError.
void try_programs(const RunContext& context, const JobRequest& request);

/// Hashes the files of both programs, and environment.index, for rank 0 and for the archive.
/// `before`: the state of the checkpoint from which the run continues; null if the run begins.
/// Warns if the files have changed since the last start.
void note_programs(RunContext& context, const CoordinatorState* before);

}  // namespace rollcall::run
