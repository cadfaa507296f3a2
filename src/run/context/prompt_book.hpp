// All prompts that a plan or a shard can name: those of the task in their forms and tiers of help,
// and derived ones. Generation, scoring and archive ask it and know no kinds.
#pragma once

#include "core/derived_prompt.hpp"
#include "core/plan.hpp"
#include "io/shard_file.hpp"
#include "run/context/grading.hpp"
#include "run/context/run_texts.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::run {

/// Stands between a question and the words that [openings] puts behind it.
inline constexpr const char* kBeforeWords = "\n\n";

/// It is made for each plan or shard. What it is given must outlive it.
class PromptBook {
 public:
  /// `derived`: ascending by number.
  PromptBook(const RunTexts& texts, std::span<const DerivedPrompt> derived)
      : texts_(&texts), derived_(derived) {}

  /// The prompt as it is asked: its text, with the form that is drawn and the help of the tier, its
  /// reference, its worked solution in that form. Throws ProtocolError for a derived prompt that is
  /// not in the book.
  Prompt asked(Purpose purpose, const GroupId& group, const Derivation& from) const;
  /// The tokens that the policy sees of it.
  std::vector<std::int32_t> tokens(Purpose purpose, const GroupId& group,
                                   const Derivation& from) const;
  /// The same where `question` stands in place of the prompt's text, or of what its user says last.
  std::vector<std::int32_t> tokens(Purpose purpose, const GroupId& group, const Derivation& from,
                                   const std::string& question) const;
  /// Tokens with which its answers begin: those of a derived prompt, or the part of the worked
  /// solution that [hints] gives as a beginning; empty: none.
  std::vector<std::int32_t> given(Purpose purpose, const GroupId& group,
                                  const Derivation& from) const;
  /// Whether those tokens train as well.
  bool learns_given(const GroupId& group) const;
  /// The row of the task's file behind the prompt, as JSON (task::PromptSet::extra_of): its own, or
  /// that of the prompt whose answers it was made of; empty where there is none.
  std::string extra(Purpose purpose, const GroupId& group) const;
  /// The prompts of a shard as the archive keeps them.
  std::vector<io::ShardPrompt> stored(const RolloutShard& shard) const;

 private:
  const DerivedPrompt& find(PromptId prompt) const;
  Prompt of_task(Purpose purpose, const GroupId& group) const;

  const RunTexts* texts_;
  std::span<const DerivedPrompt> derived_;
};

/// The grader of the answers to a prompt: the run's, or that of verdicts.
const reward::Grader& grader_of(const Grading& grading, const Prompt& asked);

/// The members of `derived` (ascending) that one of the groups asks.
std::vector<DerivedPrompt> asked_by(std::span<const GroupPlan> groups,
                                    std::span<const DerivedPrompt> derived);

/// Tokens of the longest prompt that the book can have, in all forms and tiers and with all texts
/// of [self_judging], [second_pass] and [openings]; at most what the model has room for. `positions`: how many
/// tokens the policy can read (ModelConfig::max_position_embeddings).
std::int64_t longest_asked(const RunConfig& config, const RunTexts& texts, std::int64_t positions);

}  // namespace rollcall::run
