// Forms in which the same question may be asked. Each form says what the answer should look like
// and how it is read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

/// A row of the table in answer_form.cpp.
struct AnswerForm {
  const char* name;
  /// The text that ends the question. It differs between forms, and is null if the question is
  /// asked unchanged.
  const char* instruction;
  const char* opening;  ///< the beginning of every answer, which the policy is given with the
                        ///< question
  /// The rule that finds the answer, a row in extract.cpp. Null for the rule that questions without
  /// forms use.
  const char* extract;
  std::vector<std::string_view>
      marks{};  ///< strings that each occur exactly once in an answer, after the opening
  /// A worked answer after the opening, with {reasoning} and {answer}. Null for the task's solution
  /// unchanged.
  const char* worked = nullptr;
};

const std::vector<AnswerForm>& answer_forms();
/// Throws ConfigError for an unknown name, naming the nearest known one.
const AnswerForm& find_answer_form(const std::string& name);

std::string asked_in(const AnswerForm& form, std::string_view question);
/// Whether a question was asked in a form, which must have an instruction.
bool is_asked_in(const AnswerForm& form, std::string_view asked);

/// A task's worked solution in this form. Its reasoning is the text before `marker`, and its answer
/// the text after it. A solution without the marker is used for both, so that the reasoning is a
/// draft of the answer.
std::string worked_in(const AnswerForm& form, std::string_view solution, std::string_view marker);

/// Fraction of the form's marks, in [0, 1], that occur exactly once in the response. 1 for a form
/// without marks.
double share_of_marks(const AnswerForm& form, std::string_view response);

/// The answer with its first thought emptied, so that <think>...</think> becomes <think></think>.
/// An answer without a thought is unchanged.
std::string without_thought(std::string answer);

}  // namespace rollcall::text
