// Looks in sequence at the places where an answer may be.
#include "text/conclusion/final_answer.hpp"

#include "text/answer/answer_text.hpp"
#include "text/answer/boxed_answer.hpp"
#include "text/chat/thoughts.hpp"
#include "text/conclusion/announcement.hpp"
#include "text/conclusion/announcement_words.hpp"
#include "text/conclusion/candidate.hpp"
#include "text/conclusion/conclusion.hpp"
#include "text/conclusion/denial.hpp"

#include <algorithm>

namespace rollcall::text {
namespace {

constexpr std::size_t kShortLine = 200;  // bytes; longer lines are prose

std::optional<std::string> last_formulas(const Tokens& t) {
  for (std::size_t at = t.size(); at-- > 0;) {
    if (!t.is(at, Kind::formula)) continue;
    const std::string_view inner = trim(t.text.substr(t[at].inner, t[at].last - t[at].inner));
    if (denies(t, sentence_begin(t, at), at)) return std::nullopt;
    if (!inner.empty()) return std::string(inner);
  }
  return std::nullopt;
}

/// The last line if it is short, is not about the answer, admits no doubt, and denies no value.
std::optional<std::string> last_line(std::string_view said) {
  const std::string_view text = trim(said);
  const std::size_t line_break = text.rfind('\n');
  const std::string_view line =
      trim(line_break == std::string_view::npos ? text : text.substr(line_break + 1));
  if (line.empty() || line.size() > kShortLine) return std::nullopt;
  const Tokens t(line);
  const auto& words = announcement_words();
  bool is_remark = false;
  for (std::size_t i = 0; i < t.size(); ++i)
    is_remark = is_remark || words.answers.begins(t, i) || words.doubts.begins(t, i) ||
                (is_value(t, i) && denies(t, sentence_begin(t, i), i));
  if (is_remark) return std::nullopt;
  if (auto bare = bare_answer(t)) return std::move(bare->text);
  return std::string(line);
}

std::string tag_content(std::string_view content) {
  const Tokens t(content);
  if (auto announced = last_announcement(t)) return std::move(announced->text);
  return plain_answer(content);
}

}  // namespace

std::optional<std::string_view> tagged_answer(std::string_view response) {
  constexpr std::string_view kOpen = "<answer>", kClose = "</answer>";
  const std::size_t close = response.rfind(kClose);
  if (close == std::string_view::npos) return std::nullopt;
  const std::size_t open = response.substr(0, close).rfind(kOpen);
  if (open == std::string_view::npos) return std::nullopt;
  return trim(response.substr(open + kOpen.size(), close - open - kOpen.size()));
}

std::string plain_answer(std::string_view answer) {
  const std::string_view text = trim(answer);
  const Tokens t(text);
  auto bare = bare_answer(t);
  return bare ? std::move(bare->text) : std::string(text);
}

std::optional<FinalAnswer> final_answer(std::string_view response, bool finished) {
  std::string storage;
  const std::string_view said = spoken(response, storage);
  auto boxed = boxed_answer(said);
  if (boxed && !boxed->empty()) return FinalAnswer{std::move(*boxed), true, AnswerPlace::box};
  const auto tagged = tagged_answer(said);
  if (tagged && !tagged->empty()) return FinalAnswer{tag_content(*tagged), true, AnswerPlace::tag};
  const Tokens tokens(said);
  if (auto announced = last_announcement(tokens))
    return FinalAnswer{std::move(announced->text), finished || announced->ended,
                       AnswerPlace::announcement};
  // The box or the tags are empty.
  if (boxed || tagged) return FinalAnswer{{}, true, boxed ? AnswerPlace::box : AnswerPlace::tag};
  if (auto concluded = finished ? last_conclusion(tokens) : std::nullopt)
    return FinalAnswer{std::move(concluded->text), true, AnswerPlace::conclusion};
  if (auto formula = last_formulas(tokens))
    return FinalAnswer{std::move(*formula), true, AnswerPlace::formula};
  if (auto line = last_line(said))
    return FinalAnswer{std::move(*line), finished, AnswerPlace::line};
  return std::nullopt;
}

std::optional<std::string> stated_answer(std::string_view response) {
  auto found = final_answer(response, true);
  if (!found || found->place > AnswerPlace::conclusion) return std::nullopt;
  return std::move(found->text);
}

}  // namespace rollcall::text
