// A job before its weights are read, with everything that can be wrong with it up to there.
#pragma once

#include "base/faults.hpp"
#include "run/context/run_context.hpp"
#include "run/folder/job_request.hpp"
#include "run/start/start_checks.hpp"

namespace rollcall::run {

struct Draft {
  RunContext context;
  Named named;
};

/// Whole where nothing joins `faults`: settings, the files and folders that they name, and what
/// prompts and settings ask of each other.
Draft make_draft(const RunConfig& config, const RankShape& shape, JobKind kind, Faults& faults);

}  // namespace rollcall::run
