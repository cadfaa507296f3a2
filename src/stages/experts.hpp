// Rollouts that no policy sampled: the task's worked solutions, for objectives that learn from an expert beside their own rollouts.
#pragma once

#include "method/method.hpp"
#include "stages/job.hpp"
#include "stages/step_batch.hpp"

#include <cstdint>

namespace rollcall::stages {

/// Throws ConfigError when objective and run file do not fit: experts that nobody tells apart, none where the objective waits for them, prompts without a worked
/// solution or with one that the model has no room for.
void check_experts(const Job& job, const method::Method& objective);

/// Gives experts.share of the step's groups the prompt's worked solution, one of several by an even draw, as their last rollout, judged by the task's verifier. Which groups is drawn at the
/// group's own address. Its log-probs are 0 until Companions::add_missing_logprobs has filled them.
void add_experts(StepBatch& batch, const Job& job, std::uint64_t step);

}  // namespace rollcall::stages
