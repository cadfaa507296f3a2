// Mathematical answers, by value.
#include "reward/judges.hpp"
#include "reward/math/decide.hpp"

namespace rollcall::reward {

Score judge_math_answer(const Prompt& prompt, const Response& response) {
  Score score;
  const bool complete = response.answer && response.answer->complete && !response.answer->text.empty();
  if (complete) {
    auto verdict = math::decide(prompt.answer, response.answer->text).verdict;
    score.correct = verdict.answer == math::Answer::equal;
    score.undecided = verdict.answer == math::Answer::undecided;
    score.answer = response.answer->text;
    score.reason = std::move(verdict.reason);
  } else {
    score.reason = response.answer ? "the answer may have been cut" : "no answer was found";
  }
  score.components = {double(score.correct), double(complete)};
  return score;
}

}  // namespace rollcall::reward
