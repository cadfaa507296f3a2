// Judges worked answers with a number or a string as the result, as in GSM8K.
#include "reward/graders.hpp"
#include "text/answer/answer_text.hpp"
#include "text/answer/plain_latex.hpp"
#include "text/conclusion/final_answer.hpp"

namespace rollcall::reward {
namespace {

bool is_number(const std::string& s) {
  return !s.empty() && s.find_first_not_of("-0123456789.") == std::string::npos;
}

/// The normal form in which answers are compared. An answer that is more than a number becomes the
/// number, without the marks around it and the remarks after it.
std::string normal(const std::string& answer) {
  std::string as_written = text::normal_answer(answer);
  if (is_number(as_written)) return as_written;
  std::string plain = text::normal_answer(text::plain_answer(text::plain_latex(answer)));
  return is_number(plain) ? plain : as_written;
}

}  // namespace

Score judge_marked_answer(const Prompt& prompt, const Response& response) {
  const bool given = response.answer && !response.answer->text.empty();
  const bool complete = given && response.answer->complete;
  const std::string answer = complete ? normal(response.answer->text) : std::string();
  const bool correct = complete && answer == text::normal_answer(prompt.answer);
  const double format =
      (text::printable_share(response.text) + double(response.finished) + double(given)) / 3.0;
  return {{double(correct), format}, 0.0, correct, answer};
}

}  // namespace rollcall::reward
