// Rollouts that no policy sampled: the task's worked solutions, for objectives that learn from an
// expert beside their own rollouts.
#pragma once

#include "method/method.hpp"
#include "run/context/run_context.hpp"
#include "run/step/step_batch.hpp"

#include <cstdint>

namespace rollcall::run {

/// Throws ConfigError where the run file gives experts to an objective that does not tell them from
/// the policy's rollouts, or gives none to an objective that needs them.
void check_experts(const RunConfig& config, const method::Objective& objective);
/// Throws ConfigError where a prompt that experts are to answer has no worked solution, or one that
/// is too long for the model.
void check_solutions(const RunContext& context);

/// Adds the worked solution of the prompt, graded by the task's verifier, as the last rollout of
/// the share experts.share of the step's groups. Whether a group gets one, and which of several
/// solutions (with equal probability), is drawn at the group's address. The solution's log-probs
/// are 0 until AuxiliaryModels::add_missing_logprobs fills them.
void add_experts(StepBatch& batch, const RunContext& context, std::uint64_t step);

}  // namespace rollcall::run
