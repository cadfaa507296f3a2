// Rollouts that no policy sampled: the task's worked solutions, for objectives that learn from an
// expert beside their own rollouts.
#pragma once

#include "method/method.hpp"
#include "run/context/run_context.hpp"
#include "run/step/step_batch.hpp"

#include <cstdint>

namespace rollcall::run {

/// Throws ConfigError when objective and run file do not fit: experts that nobody tells apart, or
/// none
/// where the objective waits for them.
void check_experts(const RunConfig& config, const method::Objective& objective);
/// Throws ConfigError where experts are to answer prompts without a worked solution, or with one
/// that
/// the model has no room for.
void check_solutions(const RunContext& context);

/// Gives experts.share of the step's groups the prompt's worked solution, one of several by an even
/// draw, as their last rollout, judged by the task's verifier. Which groups is drawn at the group's
/// own address. Its log-probs are 0 until AuxiliaryModels::add_missing_logprobs has filled them.
void add_experts(StepBatch& batch, const RunContext& context, std::uint64_t step);

}  // namespace rollcall::run
