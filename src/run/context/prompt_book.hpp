// All prompts that a plan or a shard can name: those of the task in their forms and tiers of help,
// and derived ones. Generation, scoring and archive ask it and know no kinds.
#pragma once

#include "core/derived_prompt.hpp"
#include "core/plan.hpp"
#include "io/shard_file.hpp"
#include "run/context/run_context.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::run {

class PromptBook {
 public:
  /// `derived`: ascending by number; must outlive the book.
  PromptBook(const RunContext& context, std::span<const DerivedPrompt> derived)
      : context_(&context), derived_(derived) {}

  /// The prompt as it is asked: its text, with the form that is drawn and the help of the tier, its
  /// reference, its worked solution in that form. Throws ProtocolError for a derived prompt that is
  /// not in the book.
  Prompt asked(Purpose purpose, const GroupId& group, const Derivation& from) const;
  /// The tokens that the policy sees of it.
  std::vector<std::int32_t> tokens(Purpose purpose, const GroupId& group,
                                   const Derivation& from) const;
  /// Tokens with which its answers begin: those of a derived prompt, or the part of the worked
  /// solution that [hints] gives as a beginning; empty: none.
  std::vector<std::int32_t> given(Purpose purpose, const GroupId& group,
                                  const Derivation& from) const;
  /// The grader of its answers: the run's, or that of verdicts.
  const reward::Grader& grader(const Prompt& asked) const;
  /// The prompts of a shard as the archive keeps them.
  std::vector<io::ShardPrompt> stored(const RolloutShard& shard) const;

 private:
  const DerivedPrompt* find(PromptId prompt) const;
  const RunContext* context_;
  std::span<const DerivedPrompt> derived_;
};

/// Index of the form in RunContext::forms. Training groups and their greedy baselines draw it
/// uniformly, by an addressed random number; evaluations take the first form.
std::size_t form_of(const RunContext& context, Purpose purpose, const GroupId& group);

/// The members of `derived` (ascending) that one of the groups asks.
std::vector<DerivedPrompt> asked_by(std::span<const GroupPlan> groups,
                                    std::span<const DerivedPrompt> derived);

/// The task's prompt with help of a tier from 1 to hints.tiers, as hints.source says: a beginning
/// of the worked solution of that share of its lines, or the first so many texts of the row's list.
std::string with_hint(const RunContext& context, const Prompt& prompt, std::int32_t tier);

/// Tokens of the longest prompt that the book can have, in all forms and tiers and with all texts
/// of [self_judging] and [second_pass]; at most what the model has room for.
std::int64_t longest_asked(const RunContext& context);

}  // namespace rollcall::run
