// What rank 0 looks at before a run: its settings alone, splits that are empty, settings that cost without a use.
#pragma once

#include "comm/communicator.hpp"
#include "method/method.hpp"
#include "stages/job.hpp"
#include "stages/rank.hpp"

#include <memory>
#include <string>
#include <vector>

namespace rollcall::stages {

/// All that is known from the settings alone, before a model is read or a grader is started. What
/// only a new run can have wrong is checked where run.dir holds no run yet, however it is started:
/// one that earlier builds began may go on. Throws ConfigError with everything that is wrong.
/// Returns the objective.
std::unique_ptr<const method::Method> check_start(const RunConfig& config, JobKind kind = JobKind::train);

/// Throws ConfigError where an evaluation that is asked for has no prompts.
void check_splits(const Job& job, JobKind kind);

/// Of a run that trains: each with what it costs and what to do. Nothing of them is wrong.
/// `cores`: that a rank may use (comm::NodeShare).
std::vector<std::string> costly_settings(const Job& job, int cores);

/// Of a run that trains and whose draws leave tokens out, though its log-probs are of all tokens:
/// what follows, and the key that corrects it. Else empty. A policy gradient is unbiased only for the
/// distribution that draws (TRL issue 6789 has the same bias between vLLM and its trainer).
std::string truncation_told(const RunConfig& config);

}  // namespace rollcall::stages
