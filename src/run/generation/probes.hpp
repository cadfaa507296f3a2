// Probes: how far the policy had come behind each reasoning step of a rollout. The beginning of a
// final answer is put behind the step; how the policy goes on says how sure it is, and what it
// gives the reference answer, whether it is right.
// Source: Step Potential Advantage Estimation, arXiv:2601.03823. Probes are not trained on and not
//   stored: they follow from seed, step, policy and rollouts.
#pragma once

#include "comm/communicator.hpp"
#include "method/method.hpp"
#include "run/context/run_context.hpp"
#include "run/step/step_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::run {

/// Where the objective reads what probes find: throws ConfigError for settings that do not fit the
/// model or the task.
void check_probes(const RunContext& context, const method::Objective& objective);

/// Behind so many tokens of its answer (a guide's beginning counts) a rollout of the batch has
/// ended a reasoning step.
struct StepEnd {
  std::size_t group, rollout, tokens;
};

/// All of the batch, in order. A step ends with the token that completes probes.delimiter; what
/// stands behind the last end is no step.
std::vector<StepEnd> step_ends(const RunContext& context, const StepBatch& batch);

/// A group for each end: the rollout up to there, probes.opener, and as the policy's words, with
/// columns that are still empty, the prompt's reference answer.
StepBatch reference_answers(const RunContext& context, const StepBatch& batch,
                            std::span<const StepEnd> ends);

/// [ends] mean over the draws of exp(-mean entropy of their tokens), under the policy of the
/// moment. Shared out to `ranks`. Collective.
std::vector<float> probe_confidence(const RunContext& context, const StepBatch& batch,
                                    std::span<const StepEnd> ends, std::uint64_t step,
                                    comm::Communicator& ranks);

/// The columns reasoning_step, probe_accuracy and probe_confidence of what was found behind each
/// end, [ends].
void add_probe_columns(StepBatch& batch, std::span<const StepEnd> ends,
                       std::span<const float> accuracy, std::span<const float> confidence);

}  // namespace rollcall::run
