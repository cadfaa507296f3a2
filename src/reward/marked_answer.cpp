// Worked answers whose result is a number or a text, as in GSM8K.
#include "reward/judges.hpp"
#include "text/answer_text.hpp"

namespace rollcall::reward {

Score judge_marked_answer(const Prompt& prompt, const Response& response) {
  const bool given = response.answer && !response.answer->text.empty();
  const bool complete = given && response.answer->complete;
  const std::string answer = complete ? text::normal_answer(response.answer->text) : std::string();
  const bool correct = complete && answer == text::normal_answer(prompt.answer);
  const double format = (text::printable_share(response.text) + double(response.finished) + double(given)) / 3.0;
  return {{double(correct), format}, 0.0, correct, answer};
}

}  // namespace rollcall::reward
