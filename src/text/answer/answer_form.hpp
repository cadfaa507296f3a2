// Forms in which one and the same question may be put: what is asked of the answer, and how such an
// answer is read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

/// A row of the table in answer_form.cpp.
struct AnswerForm {
  const char* name;
  const char* instruction;  ///< what the question ends in, of no other form; none: it is asked as
                            ///< it stands
  const char* opening;      ///< beginning of every answer, given with the question
  const char* extract;  ///< how the answer is found: a row of extract.cpp; none: as of a question
                        ///< without forms
  std::vector<std::string_view> marks{};  ///< texts that an answer holds once each, behind the
                                          ///< opening
  const char* worked = nullptr;  ///< a worked answer behind the opening, with {reasoning} and
                                 ///< {answer}; none: the task's own
};

const std::vector<AnswerForm>& answer_forms();
/// throws ConfigError naming the nearest
const AnswerForm& find_answer_form(const std::string& name);

std::string asked_in(const AnswerForm& form, std::string_view question);
/// of a form with an instruction
bool is_asked_in(const AnswerForm& form, std::string_view asked);

/// A task's worked solution in the form. The answer is what follows `marker` and the reasoning what
/// stands before it; a solution without one is both, so that the reasoning is a draft of the
/// answer.
std::string worked_in(const AnswerForm& form, std::string_view solution, std::string_view marker);

/// Share of the form's marks that stand in the response once; 1 of a form without marks.
double share_of_marks(const AnswerForm& form, std::string_view response);

/// The answer with its first thought emptied: <think>...</think> becomes <think></think>. As it is
/// where it has none.
std::string without_thought(std::string answer);

}  // namespace rollcall::text
