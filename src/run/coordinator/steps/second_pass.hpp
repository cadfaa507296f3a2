// The second pass of a step. Its prompts are made from the answers of the scheduler's rounds, and
// are asked in further rounds of the same step.
// Sources: Critique-GRPO, arXiv:2506.03106; InT, arXiv:2601.14209 (run/context/derived).
#pragma once

#include "core/derived_prompt.hpp"
#include "core/plan.hpp"
#include "run/context/run_texts.hpp"
#include "run/messages/messages.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rollcall::run {

/// The round that is made from the rounds before it.
struct DerivedRound {
  std::vector<GroupPlan> groups{};       ///< ascending by GroupId; empty: the pass is over
  std::vector<DerivedPrompt> prompts{};  ///< of those groups that have a text, ascending by number
};

/// A function of seed, settings, step and what it was given: which answers are asked about is drawn
/// at their addresses. It holds the numbers that the step has used.
class SecondPass {
 public:
  /// `positions`: how many tokens the policy can read (ModelConfig::max_position_embeddings).
  /// `learns_mended`: whether the beginnings of mended answers train (column_sources.hpp).
  /// `config` and `texts` must outlive it.
  SecondPass(const RunConfig& config, const RunTexts& texts, std::int64_t positions,
             std::uint64_t step, bool learns_mended = false);

  /// The next round. `specimens`: of all rounds so far, merged; `reports`: of all groups so far.
  /// Both ascend by group.
  DerivedRound next(const std::vector<Specimen>& specimens,
                    const std::vector<GroupReport>& reports);

  /// second_pass/KIND_groups, _rollouts and _correct for each kind that the step has asked, and
  /// second_pass/rollouts and /left_out; empty where the run has neither a second pass nor a
  /// buffer. `reports`: on derived groups, before verdicts are permuted.
  std::map<std::string, double> metrics(const std::vector<GroupReport>& reports) const;

 private:
  /// An answer that is asked about.
  struct Source {
    GroupId parent;
    std::int32_t level = 0;
    Exhibit answer{};
  };
  struct Candidate;

  std::vector<Candidate> candidates(const std::vector<Specimen>& specimens,
                                    const std::vector<GroupReport>& reports);
  DerivedRound first(const std::vector<Specimen>& specimens,
                     const std::vector<GroupReport>& reports);
  DerivedRound second(const std::vector<Specimen>& specimens);
  const Prompt& question(const Source& source) const;
  bool fits(const DerivedPrompt& derived) const;
  DerivedPrompt make(DerivedKind kind, const Source& source, std::string text) const;
  DerivedPrompt make_first(const Source& source) const;
  void ask(DerivedPrompt derived, DerivedRound& round);

  const RunConfig* config_;
  const RunTexts* texts_;
  std::int64_t room_;  ///< tokens of a prompt, with what is given of its answers
  std::uint64_t step_;
  bool learns_mended_;
  std::uint32_t round_ = 0;
  std::map<DerivedKind, std::uint64_t> used_{};  ///< numbers so far
  std::map<PromptId, Source> named_{};           ///< answers of which the first round asks errors
  std::int64_t left_out_ = 0;
};

}  // namespace rollcall::run
