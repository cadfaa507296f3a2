// What rank 0 looks at before a run: its settings alone, then with prompts, and settings that cost
// without a use.
#pragma once

#include "base/faults.hpp"
#include "comm/communicator.hpp"
#include "method/method.hpp"
#include "run/context/run_context.hpp"
#include "run/folder/job_request.hpp"
#include "scheduling/scheduler.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::run {

/// What settings name in tables. Where something is wrong there is none.
struct Named {
  std::unique_ptr<const method::Objective> objective;
  std::unique_ptr<const scheduling::Scheduler> policy;  ///< made without prompts
};

/// All that is wrong with the settings and the folders that they name, as far as neither prompts
/// nor
/// weights are needed to know and no grader is started. What only a new run can have wrong is
/// checked
/// where run.dir holds no run yet, however it is started: one that earlier builds began may go on.
Named check_start(const RunConfig& config, JobKind kind, Faults& faults);

/// Of a run that trains: each with what it costs and what to do. Nothing of them is wrong.
/// `cores`: that a rank may use (comm::NodeShare).
std::vector<std::string> costly_settings(const RunContext& context, int cores);

/// Of a run that trains and whose draws leave tokens out, though its log-probs are of all tokens:
/// what follows, and the key that corrects it. Else empty. A policy gradient is unbiased only for
/// the
/// distribution that draws (TRL issue 6789 has the same bias between vLLM and its trainer).
std::string truncation_told(const RunConfig& config);

/// Of a run that trains a model with more rows than the tokenizer has tokens (`vocabulary`,
/// `tokens`): that the rest is never drawn, and that log-probs over all tokens count its mass. Else
/// empty.
std::string padding_told(const RunConfig& config, std::int64_t vocabulary, std::int64_t tokens);

/// Of a run that trains and in which a prompt may get one rollout, though its objective compares
/// rollouts of one prompt: what follows, and the key that corrects it. Else empty.
std::string lone_rollouts_told(const RunConfig& config, const method::Objective& objective);

}  // namespace rollcall::run
