// Scores given tokens after a context other than the one in which they were sampled: a reference
// answer after each turn, an action after masked feedback, an answer without its hint. Probes are a
// special case.
#pragma once

#include "core/kept_tokens.hpp"
#include "core/run_config.hpp"
#include "method/method.hpp"
#include "run/context/prompt_book.hpp"
#include "run/context/run_texts.hpp"
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
  std::vector<std::int32_t> context{};  ///< from the first token of the prompt on, at least one
  std::vector<std::int32_t> target{};   ///< at least one
  /// How many policy tokens of the rollout come before the targets, where these are its own; of a
  /// reference answer, how many of its turns.
  std::size_t place = 0;
  KeptTokens kept{};  ///< [targets] as in Turn
};

/// The text that the policy is shown in place of the environment's words, for
/// column::masked_logprob.
inline constexpr const char* kMasked = "[masked]";

/// The columns that questions_of() answers for; column::gold_logprob stands for
/// column::gold_logprob_before as well.
std::vector<std::string> recontext_columns();

/// Throws ConfigError where the objective reads one of these columns and the task or the
/// `positions` of the model (ModelConfig::max_position_embeddings) do not fit it.
void check_recontext(const RunConfig& config, const RunTexts& texts, std::int64_t positions,
                     const method::Objective& objective);

/// Tokens of the longest reference answer of a training prompt. Throws ConfigError where a prompt
/// has none, or where no worked solution holds one, so that it says what to check and is no answer.
/// `where`: the place at which the objective asks for it, for the message.
std::int64_t longest_reference(const RunConfig& config, const RunTexts& texts,
                               const std::string& where);
/// The reference answer of a training prompt, as the policy would write it.
std::vector<std::int32_t> reference_tokens(const RunTexts& texts, PromptId prompt);

/// Throws InputError for a rollout that was not asked the task's prompt of its number, with the help
/// of its tier. What was asked otherwise on purpose is not compared: rollouts with words of
/// [openings], of experts, and those that have moved here from another group.
void expect_prompt(const PromptBook& book, const Group& group, const Rollout& rollout);

/// A batch of one group for each question, which AuxiliaryModels runs as it runs any batch: the
/// rollout's prompt where the context begins with it, the rest of the context as a turn of the
/// environment, and the targets as a policy turn whose columns are zeros.
StepBatch as_batch(std::span<const Recontext> questions, const StepBatch& batch);

/// The questions of a column, in the order of groups and rollouts:
/// - column::gold_logprob: the reference answer behind [probes] opener, after the prompt and after
///   each action and what was told next;
/// - column::masked_logprob: each action after the first, where what was told before it says
///   kMasked instead. Where it says so already, nothing is asked;
/// - column::unhinted_logprob: what was sampled after a prompt with help, behind that prompt
///   without it, and without a beginning that was given as help.
/// Throws InputError for a prompt that is not the task's prompt of its number.
std::vector<Recontext> questions_of(const std::string& column, const RunConfig& config,
                                    const RunTexts& texts, const StepBatch& batch);

/// Adds a column made of the log-probs of its questions, one list for each, [targets].
/// gold_logprob: their means, per turn [K], and per rollout [B] as gold_logprob_before. Otherwise
/// per token [N]: each target is a token of the rollout, and tokens that were not asked about have
/// their old log-prob.
void add_recontext_column(StepBatch& batch, const std::string& column,
                          std::span<const Recontext> questions,
                          std::span<const std::vector<float>> logprobs);

}  // namespace rollcall::run
