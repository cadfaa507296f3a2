// Judges integers in canonical spelling, so that equal strings are equal values and nothing can
// overflow.
#include "reward/graders.hpp"
#include "text/answer/answer_text.hpp"

#include <algorithm>

namespace rollcall::reward {
namespace {

bool is_canonical_natural(std::string_view s) {
  const bool digits =
      !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && (s.front() != '0' || s.size() == 1);
}

bool is_canonical_integer(std::string_view s) {
  if (!s.starts_with('-')) return is_canonical_natural(s);
  return s != "-0" && is_canonical_natural(s.substr(1));
}

/// An integer without thousands commas and with an ASCII minus. Any other text is unchanged, and
/// then is not a canonical integer.
std::string without_commas(const std::string& s) {
  const std::string number = text::normal_answer(s);
  const bool is_grouped = s.find(',') != std::string::npos && s.find('.') == std::string::npos &&
                          s.find('+') == std::string::npos && s.find('$') == std::string::npos &&
                          s.front() != '0';
  return is_grouped || s.starts_with("\xE2\x88\x92") ? number : s;
}

/// Whether `s` is written like "-333", or like "28r9" if the question was a division.
bool is_well_formed(std::string_view s, bool division) {
  if (!division) return is_canonical_integer(s);
  const std::size_t r = s.find('r');
  return r != std::string_view::npos && is_canonical_integer(s.substr(0, r)) &&
         is_canonical_natural(s.substr(r + 1));
}

}  // namespace

Score judge_integer_answer(const Prompt& prompt, const Response& response) {
  const bool complete = response.answer && response.answer->complete;
  std::string answer = complete ? response.answer->text : std::string();
  answer = response.whole ? without_commas(answer) : text::normal_answer(answer);
  const bool format =
      complete && is_well_formed(answer, prompt.answer.find('r') != std::string::npos);
  const bool correct = format && answer == prompt.answer;
  return {{double(correct), double(format)}, 0.0, correct, format ? answer : std::string()};
}

}  // namespace rollcall::reward
