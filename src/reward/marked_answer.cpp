// Worked answers whose result follows a marker, as in GSM8K.
#include "reward/judges.hpp"
#include "text/answer_text.hpp"

namespace rollcall::reward {

Score judge_marked_answer(const Prompt& prompt, std::string_view response, bool finished, const TaskSection& section) {
  const auto marked = text::find_marked_answer(response, section.answer_marker);
  const bool given = marked && !marked->answer.empty();
  const bool complete = given && (finished || !marked->reaches_end);
  const std::string answer = complete ? text::normal_answer(marked->answer) : std::string();
  const bool correct = complete && answer == text::normal_answer(prompt.answer);
  const double format = (text::printable_share(response) + double(finished) + double(given)) / 3.0;
  return {{double(correct), format}, 0.0, correct, answer};
}

}  // namespace rollcall::reward
