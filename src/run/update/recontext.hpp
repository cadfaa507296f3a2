// Given tokens scored behind another context than the one in which they were sampled: a reference
// answer behind each turn, an action behind masked feedback, an answer without its hint. Probes are
// a case of it.
#pragma once

#include "comm/communicator.hpp"
#include "run/step/step_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::run {

/// One question: how likely are the targets after the context?
struct Recontext {
  std::size_t group = 0, rollout = 0;   ///< in the batch
  std::vector<std::int32_t> context{};  ///< from the first token of the prompt on
  std::vector<std::int32_t> target{};   ///< at least one
};

/// A batch of one group for each question, which AuxiliaryModels runs as it runs any batch: the
/// context as prompt and environment turn, so that equal beginnings are computed once, and the
/// targets as a policy turn whose columns are empty.
StepBatch as_batch(std::span<const Recontext> questions, const StepBatch& batch);

/// Which questions a column asks, by its name (column::gold_logprob, masked_logprob,
/// unhinted_logprob, column::recontext + NAME).
std::vector<Recontext> questions_of(const std::string& column, const RunContext& context,
                                    const StepBatch& batch);

/// Adds a column made of the log-probs of the questions, one list for each, [targets]. Per turn [K]
/// for gold_logprob: their mean. Per token [N] otherwise: each target is a token of the rollout,
/// and tokens that were not asked have their old log-prob.
void add_recontext_column(StepBatch& batch, const std::string& column,
                          std::span<const Recontext> questions,
                          std::span<const std::vector<float>> logprobs);

}  // namespace rollcall::run
