// Verifiers: they turn a response into named reward components. Anything that needs the whole group
// (votes, diversity) or a memory (moving statistics) is a piece of objective/reward, which sees the
// step.
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

/// A row of the table in reward/verifiers.cpp. Its functions are pure. They never throw for any
/// response text, only for a reference that cannot be used.
struct Verifier {
  const char* name;
  const char* meaning;
  /// Names in the order of Score::components; the first is "correct".
  std::vector<std::string> components;
  /// The rule for finding the answer if the run file names none: a row of text/answer/extract.cpp.
  const char* extract;
  const char* answers;  ///< a description of the verifier's answers if they are never numbers; else
                        ///< nullptr
  /// Fills components, correct and answer for one response.
  Score (*judge)(const Prompt& prompt, const Response& response);
};

const Verifier& find_verifier(const std::string& name);  ///< throws ConfigError naming the nearest
/// The verifier named by reward.verifier or, if that is empty, the task's.
const Verifier& chosen_verifier(const RewardSection& section, const std::string& of_task);
std::vector<std::string> verifier_names();
/// whether the verifier needs a started sandbox (sandbox/sandbox.hpp)
bool runs_code(const Verifier& verifier);

/// Judges the answers of a run, with a verifier or with a command in its place, and finds the
/// answers in the responses. Immutable, and shared by threads.
class Grader {
 public:
  /// `verifier` is the task's. Throws ConfigError for an extraction that is unknown or can never
  /// find an answer to the task.
  Grader(const Verifier& verifier, const TaskSection& section, const RewardSection& reward = {});
  std::string name() const { return is_command_ ? "command" : verifier_->name; }
  bool is_command() const { return is_command_; }
  /// Names in the order of Score::components.
  const std::vector<std::string>& components() const { return components_; }
  std::string extraction() const;  ///< the extraction that evaluations use

  /// `finished` is false if the token limit cut the response. reward = correct + format_weight *
  /// format. If the verifier throws, the verdict is undecided. If a prompt is asked in one of
  /// task.forms, its answer is found as that form prescribes, and its format is the fraction of the
  /// form's marks that the response has.
  Score score(const Prompt& prompt, std::string_view response, bool finished) const;
  /// The command's reply as a score: its reward is the command's score, its components are correct
  /// and the command's own. Its answer is the command's or, if the command gives none, the result
  /// of the extraction.
  Score score(const Reply& reply, std::string_view response, bool finished) const;
  Score undecided(std::string reason) const;  ///< a score of zeros without a verdict
  /// The reason why no response can be compared by value with the reference of this prompt; empty
  /// if responses can. Throws InputError if score() would.
  std::string reference_problem(const Prompt& prompt) const;

 private:
  using FormParser = std::pair<const text::AnswerForm*, text::Extractor>;
  /// Scores a response whose answer is a single string.
  Score score_one(const Prompt& prompt, std::string_view response, bool finished) const;
  /// The form in which a prompt is asked; nullptr if it is asked as it is.
  const FormParser* parser_of(const std::string& asked) const;

  const Verifier* verifier_;
  text::Extractor extractor_;
  std::vector<FormParser> parsers_;  ///< the forms that have an instruction
  bool evaluates_plainly_ = true;
  double format_weight_;
  bool is_command_;
  std::vector<std::string> components_;
};

}  // namespace rollcall::reward
