// A draft of a job: everything except its weights, with all checks that need no weights.
#pragma once

#include "base/errors/faults.hpp"
#include "run/context/run_context.hpp"
#include "run/folder/job_request.hpp"
#include "run/start/start_checks.hpp"

namespace rollcall::run {

struct Draft {
  RunContext context;
  Named named;
};

/// Checks settings, the files and folders that they name, and prompts and settings against each
/// other. The draft is complete only if nothing is added to `faults`.
Draft make_draft(const RunConfig& config, const RankShape& shape, JobKind kind, Faults& faults);

}  // namespace rollcall::run
