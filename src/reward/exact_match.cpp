// The response must be the reference, letter by letter.
#include "reward/judges.hpp"
#include "text/answer_text.hpp"

#include <algorithm>

namespace rollcall::reward {

Score judge_exact_match(const Prompt& prompt, std::string_view response, bool finished, const TaskSection&) {
  const std::string_view answer = text::trim(response);
  const bool digits = !answer.empty() && std::all_of(answer.begin(), answer.end(), [](char c) { return c >= '0' && c <= '9'; });
  const bool correct = finished && answer == prompt.answer;
  return {{double(correct), double(finished && digits)}, 0.0, correct, finished && digits ? std::string(answer) : std::string()};
}

}  // namespace rollcall::reward
