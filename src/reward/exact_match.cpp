// The answer must be the reference, letter by letter.
#include "reward/graders.hpp"

#include <algorithm>

namespace rollcall::reward {

Score judge_exact_match(const Prompt& prompt, const Response& response) {
  const bool complete = response.answer && response.answer->complete;
  const std::string answer = complete ? response.answer->text : std::string();
  const bool digits = !answer.empty() && std::all_of(answer.begin(), answer.end(),
                                                     [](char c) { return c >= '0' && c <= '9'; });
  const bool correct = complete && answer == prompt.answer;
  return {
      {double(correct), double(digits)}, 0.0, correct, digits || correct ? answer : std::string()};
}

}  // namespace rollcall::reward
