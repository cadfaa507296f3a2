// Rollouts that no policy sampled. They are the task's worked solutions, for objectives that learn
// from an expert in addition to their own rollouts.
#pragma once

#include "core/run_config.hpp"
#include "method/method.hpp"
#include "reward/verifier.hpp"
#include "run/context/run_texts.hpp"
#include "run/step/step_batch.hpp"

#include <cstdint>

namespace rollcall::run {

/// Throws ConfigError where the run file gives experts to an objective that does not tell them from
/// the policy's rollouts, or gives none to an objective that needs them.
void check_experts(const RunConfig& config, const method::Objective& objective);
/// Throws ConfigError where a prompt that experts are to answer has no worked solution, or one that
/// is too long for the `positions` of the model (ModelConfig::max_position_embeddings).
void check_solutions(const RunConfig& config, const RunTexts& texts, std::int64_t positions);

/// Adds the worked solution of the prompt, graded by the task's verifier, as the last rollout of
/// the share experts.share of the step's groups. Whether a group gets one, and which of several
/// solutions (with equal probability), is drawn at the group's address. The solution's log-probs
/// are 0 until AuxiliaryModels::add_missing_logprobs fills them.
void add_experts(StepBatch& batch, const RunConfig& config, const RunTexts& texts,
                 const reward::Grader& grader, std::uint64_t step);

}  // namespace rollcall::run
