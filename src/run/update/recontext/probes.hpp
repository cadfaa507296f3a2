// Probes measure how far the policy had come after each reasoning step of a rollout. The beginning
// of a final answer is put after the step. The entropy of what the policy samples next says how
// sure it is, and the probability that it gives the reference answer says whether it is right.
// Source: Step Potential Advantage Estimation, arXiv:2601.03823. Probes are not trained on and not
//   stored: they follow from seed, step, policy and rollouts.
#pragma once

#include "comm/communicator.hpp"
#include "core/run_config.hpp"
#include "method/method.hpp"
#include "run/context/run_texts.hpp"
#include "run/step/step_batch.hpp"
#include "run/update/recontext/recontext.hpp"
#include "text/tokenizer/tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::run {

struct RunContext;

/// Throws ConfigError where the objective reads the columns of probes and the settings of [probes]
/// do not fit the task or the `positions` of the model (ModelConfig::max_position_embeddings).
void check_probes(const RunConfig& config, const RunTexts& texts, std::int64_t positions,
                  const method::Objective& objective);

/// The end of a reasoning step: indices of group and rollout in the batch, and how many tokens of
/// the answer come before it. A prefix of a guide counts.
struct StepEnd {
  std::size_t group, rollout, tokens;
};

/// The ends of all reasoning steps of the batch, in order. A reasoning step ends with the token
/// that completes `delimiter` (probes.delimiter). Tokens after the last delimiter are no step.
std::vector<StepEnd> step_ends(const text::Tokenizer& tokenizer, const std::string& delimiter,
                               const StepBatch& batch);

/// A question for each end: the reference answer of the prompt, behind the rollout up to there and
/// `opener` (probes.opener). The prompt is what the rollout was asked. Throws InputError as
/// expect_prompt does.
std::vector<Recontext> reference_questions(const RunTexts& texts, const std::string& opener,
                                           const StepBatch& batch, std::span<const StepEnd> ends);

/// [ends] the mean over draws of exp(-mean entropy of the draw's tokens), under the current policy.
/// The ends are shared out to `ranks`. Collective.
std::vector<float> probe_confidence(const RunContext& context, const StepBatch& batch,
                                    std::span<const StepEnd> ends, std::uint64_t step,
                                    comm::Communicator& ranks);

/// Adds the columns reasoning_step, probe_accuracy and probe_confidence. `accuracy` and
/// `confidence`: [ends].
void add_probe_columns(StepBatch& batch, std::span<const StepEnd> ends,
                       std::span<const float> accuracy, std::span<const float> confidence);

}  // namespace rollcall::run
