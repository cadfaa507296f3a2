// Verifiers: a response in, named reward components out. What needs the whole group (votes,
// diversity) or remembers (moving statistics) is a piece of objective/reward, which sees the step.
#pragma once

#include "core/rollout.hpp"
#include "core/run_config.hpp"
#include "reward/command/message.hpp"
#include "text/answer/answer_form.hpp"
#include "text/answer/extract.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::reward {

struct Response;

/// A row of the table reward/verifiers.cpp. Pure functions; never throw on any response text, only
/// on a reference that cannot be used.
struct Verifier {
  const char* name;
  const char* meaning;
  std::vector<std::string> components;  ///< names, in the order of Score::components; the first is
                                        ///< "correct"
  const char* extract;  ///< how it finds the answer where the run file names no other way: a row of
                        ///< text/answer/extract.cpp
  const char* answers;  ///< what its answers are where they are never numbers; else none
  /// fills components, correct and answer of one response
  Score (*judge)(const Prompt& prompt, const Response& response);
};

const Verifier& find_verifier(const std::string& name);  ///< throws ConfigError naming the nearest
/// reward.verifier, or where that is empty the task's
const Verifier& chosen_verifier(const RewardSection& section, const std::string& of_task);
std::vector<std::string> verifier_names();
bool runs_code(const Verifier& verifier);  ///< needs a started sandbox (sandbox/sandbox.hpp)

/// What judges the answers of a run: a verifier, or the command in its place, and how answers are
/// found. Immutable, shared by threads.
class Grader {
 public:
  /// `verifier`: the task's. Throws ConfigError for an extraction that is unknown or can never find
  /// an answer of the task.
  Grader(const Verifier& verifier, const TaskSection& section, const RewardSection& reward = {});
  std::string name() const { return is_command_ ? "command" : verifier_->name; }
  bool is_command() const { return is_command_; }
  /// names, in the order of Score::components
  const std::vector<std::string>& components() const { return components_; }
  std::string extraction() const;  ///< in evaluations

  /// `finished` is false when the token limit cut the response. reward = correct + format_weight *
  /// format. A verifier that throws comes to no verdict. A prompt that is asked in one of
  /// task.forms has its answer found as that form says, and its format is the share of the form's
  /// marks.
  Score score(const Prompt& prompt, std::string_view response, bool finished) const;
  /// What the command replied, as a score: reward = its score, components = correct and its own.
  Score score(const Reply& reply, std::string_view response, bool finished) const;
  Score undecided(std::string reason) const;  ///< all zero
  /// Why no response could be held against the reference of this prompt by its value; empty where
  /// one could. Throws InputError where score() would.
  std::string reference_problem(const Prompt& prompt) const;

 private:
  using FormParser = std::pair<const text::AnswerForm*, text::Extractor>;
  /// its answer is one text
  Score score_one(const Prompt& prompt, std::string_view response, bool finished) const;
  /// none: asked as it stands
  const FormParser* parser_of(const std::string& asked) const;

  const Verifier* verifier_;
  text::Extractor extractor_;
  std::vector<FormParser> parsers_;  ///< of the forms with an instruction
  bool evaluates_plainly_ = true;
  double format_weight_;
  bool is_command_;
  std::vector<std::string> components_;
};

}  // namespace rollcall::reward
