// Judges mathematical answers by value; if the reference is words, also by the words at the end of
// the response.
#include "reward/graders.hpp"
#include "reward/math/decide.hpp"
#include "text/answer/answer_text.hpp"
#include "text/answer/plain_latex.hpp"
#include "text/chat/thoughts.hpp"
#include "text/conclusion/complement.hpp"
#include "text/conclusion/final_answer.hpp"
#include "text/conclusion/prose.hpp"

namespace rollcall::reward {
namespace {

/// Whether a reference is words: letters with spaces and hyphens between them.
bool is_words(std::string_view text) {
  constexpr std::size_t kLeast = 3;  // letters; fewer are names of values
  return text.size() >= kLeast &&
         text::lower(text).find_first_not_of("abcdefghijklmnopqrstuvwxyz -'") == std::string::npos;
}

/// Whether the response ends in the reference's words: "The slope of a vertical line is undefined."
/// for the reference "undefined".
bool ends_in_words(const Prompt& prompt, const Response& response) {
  const std::string reference = text::plain_latex(prompt.answer);
  const std::string_view wanted = text::trim(reference);
  if (!is_words(wanted)) return false;
  if (text::closing_sentence(text::plain_latex(response.answer->text), wanted) == 0U) return true;
  const auto found = text::final_answer(response.text, response.finished);
  if (!found || found->place <= text::AnswerPlace::announcement ||
      found->text != response.answer->text)
    return false;
  std::string storage;
  return text::closing_sentence(text::spoken(response.text, storage), wanted) == 0U;
}

}  // namespace

Score judge_math_answer(const Prompt& prompt, const Response& response) {
  Score score;
  const bool complete =
      response.answer && response.answer->complete && !response.answer->text.empty();
  if (complete) {
    auto verdict = math::decide(prompt.answer, response.answer->text).verdict;
    if (verdict.answer == math::Answer::different && ends_in_words(prompt, response))
      verdict = {math::Answer::equal, "it ends in the same words"};
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
