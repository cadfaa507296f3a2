// One rank of the job: hosts the stages its layout gives it and runs the message loop until the
// coordinator says how the run ended.
#pragma once

#include "base/errors/error.hpp"
#include "comm/communicator.hpp"
#include "run/folder/job_request.hpp"

namespace rollcall::run {

/// Runs the job on this rank and returns its exit code, the same on every rank. Errors of input and
/// environment are found by rank 0 alone and printed once; an error on a running rank prints one
/// message and ends the whole job.
ExitCode run_job(comm::Communicator& world, const JobRequest& request);

}  // namespace rollcall::run
