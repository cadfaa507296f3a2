// The table of extraction rules.
#include "text/extract.hpp"

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "text/answer_pattern.hpp"
#include "text/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text {
namespace {

using Found = std::optional<Extracted>;

constexpr std::string_view kMinus = "\xE2\x88\x92";  // U+2212, which models write for a minus as often as not

bool is_digit(char c) { return c >= '0' && c <= '9'; }
std::size_t digits_at(std::string_view s, std::size_t at) {
  std::size_t end = at;
  while (end < s.size() && is_digit(s[end])) ++end;
  return end - at;
}

/// End of the digits from `at` on with their thousands commas: 1,050 is one number, 1,2 and 1,0500 are two.
std::size_t whole_number_end(std::string_view s, std::size_t at) {
  const std::size_t first = digits_at(s, at);
  std::size_t end = at + first;
  while (first <= 3 && end < s.size() && s[end] == ',' && digits_at(s, end + 1) == 3) end += 4;
  return end;
}

std::string without(std::string_view text, std::string_view unwanted) {
  std::string kept;
  for (const char c : text)
    if (unwanted.find(c) == std::string_view::npos) kept += c;
  return kept;
}

/// A minus right before `at`, but none between two operands: 12-5 ends in 5, "= -5" in -5.
bool is_negative(std::string_view s, std::size_t at) {
  std::string_view before = s.substr(0, at);
  if (before.ends_with('$')) before.remove_suffix(1);
  const std::size_t sign = before.ends_with('-') ? 1 : before.ends_with(kMinus) ? kMinus.size() : 0;
  if (sign == 0) return false;
  before.remove_suffix(sign);
  return before.empty() || !(std::isalnum(static_cast<unsigned char>(before.back())) != 0 || before.back() == ')');
}

Found whole(std::string_view response, bool finished) { return Extracted{std::string(trim(response)), finished}; }

Found integer(std::string_view response, bool finished) {
  std::string_view s = trim(response);
  const std::size_t sign = s.starts_with('-') || s.starts_with('+') ? 1 : s.starts_with(kMinus) ? kMinus.size() : 0;
  const bool negative = sign > 0 && s.front() != '+';
  s.remove_prefix(sign);
  if (s.ends_with('.')) s.remove_suffix(1);
  if (digits_at(s, 0) == 0 || whole_number_end(s, 0) != s.size()) return std::nullopt;
  return Extracted{std::string(negative ? "-" : "") + without(s, ","), finished};
}

Found last_number(std::string_view response, bool finished) {
  Found last;
  for (std::size_t at = 0; at < response.size();) {
    if (!is_digit(response[at])) {
      ++at;
      continue;
    }
    std::size_t end = whole_number_end(response, at);
    if (end < response.size() && response[end] == '.') end += digits_at(response, end + 1) > 0 ? 1 + digits_at(response, end + 1) : 0;
    last = Extracted{std::string(is_negative(response, at) ? "-" : "") + without(response.substr(at, end - at), ","), finished};
    at = end;
  }
  return last;
}

// Both rules of GSM8K: lm-evaluation-harness, lm_eval/tasks/gsm8k/gsm8k.yaml (filters strict-match and flexible-extract, regexes_to_ignore). They take
// what they find in an answer that the limit cut as well; only a match that reaches the cut is not taken, for a digit may be missing.
Found gsm8k_number(std::string_view response, std::size_t begin, std::size_t end, bool finished) {
  std::string number = without(response.substr(begin, end - begin), ",$");
  if (number.ends_with('.')) number.pop_back();
  if (number.find_first_of("0123456789") == std::string::npos) return std::nullopt;
  return Extracted{number, finished || end < response.size()};
}

/// The first match of #### (\-?[0-9\.\,]+)
Found gsm8k_strict(std::string_view response, bool finished) {
  constexpr std::string_view kMark = "#### ";
  for (std::size_t at = response.find(kMark); at != std::string_view::npos; at = response.find(kMark, at + 1)) {
    const std::size_t begin = at + kMark.size(), first = begin + (response.substr(begin).starts_with('-') ? 1 : 0);
    const std::size_t end = std::min(response.find_first_not_of("0123456789.,", first), response.size());
    if (end > first) return gsm8k_number(response, begin, end, finished);
  }
  return std::nullopt;
}

/// The last match of (-?[$0-9.,]{2,})|(-?[0-9]+)
Found gsm8k_flexible(std::string_view response, bool finished) {
  Found last;
  for (std::size_t at = 0; at < response.size();) {
    const std::size_t first = at + (response[at] == '-' ? 1 : 0);
    const std::size_t end = std::min(response.find_first_not_of("$0123456789.,", first), response.size());
    const bool one_digit = end == first + 1 && is_digit(response[first]);
    if (end >= first + 2 || one_digit) {
      last = gsm8k_number(response, at, end, finished);
      at = end;
    } else {
      ++at;
    }
  }
  return last;
}

/// The last \boxed{...} or \fbox{...}, braces counted (Hendrycks et al. 2021, MATH: last_boxed_only_string).
Found boxed(std::string_view response, bool) {
  const std::size_t box = response.rfind("\\boxed"), frame = response.rfind("\\fbox");
  if (box == std::string_view::npos && frame == std::string_view::npos) return std::nullopt;
  const std::size_t begin = response.find('{', box != std::string_view::npos ? box : frame);
  if (begin == std::string_view::npos || !trim(response.substr(0, begin)).ends_with(box != std::string_view::npos ? "\\boxed" : "\\fbox")) return std::nullopt;
  int depth = 0;
  for (std::size_t at = begin; at < response.size(); ++at) {
    if (response[at] == '\\') ++at;  // \{ and \} are characters of the answer
    else if (response[at] == '{') ++depth;
    else if (response[at] == '}' && --depth == 0) return Extracted{std::string(trim(response.substr(begin + 1, at - begin - 1))), true};
  }
  return std::nullopt;
}

/// The last <answer>...</answer> (DeepSeek-R1, arXiv:2501.12948, table 1).
Found answer_tag(std::string_view response, bool) {
  constexpr std::string_view kOpen = "<answer>", kClose = "</answer>";
  const std::size_t close = response.rfind(kClose);
  if (close == std::string_view::npos) return std::nullopt;
  const std::size_t open = response.substr(0, close).rfind(kOpen);
  if (open == std::string_view::npos) return std::nullopt;
  return Extracted{std::string(trim(response.substr(open + kOpen.size(), close - open - kOpen.size()))), true};
}

Found final_line(std::string_view response, bool finished) {
  const std::string_view text = trim(response);
  if (text.empty()) return std::nullopt;
  const std::size_t line = text.rfind('\n');
  return Extracted{std::string(trim(line == std::string_view::npos ? text : text.substr(line + 1))), finished};
}

/// The last formula of a stretch of prose: what a pair of dollars, \\(...\\) or \\[...\\] holds.
std::string_view last_formula(std::string_view text) {
  std::string_view last;
  std::size_t last_end = 0;
  for (const auto& [open, close] : {std::pair<std::string_view, std::string_view>("$$", "$$"), {"$", "$"}, {"\\(", "\\)"}, {"\\[", "\\]"}}) {
    const std::size_t end = text.rfind(close);
    if (end == std::string_view::npos || end <= last_end) continue;
    const std::size_t begin = text.rfind(open, end - 1);
    if (begin == std::string_view::npos || end <= begin + open.size()) continue;
    last = trim(text.substr(begin + open.size(), end - begin - open.size()));
    last_end = end;
  }
  return last;
}

/// Without the clause that says why the answer is so, or what it is not.
std::string_view until_remark(std::string_view answer) {
  std::size_t end = answer.size();
  for (const std::string_view remark : {" because ", " since ", " and not ", ", not ", " instead of ", " rather than "})
    if (const std::size_t at = answer.find(remark); at > 0) end = std::min(end, at);
  answer = trim(answer.substr(0, end));
  while (answer.ends_with(',')) answer = trim(answer.substr(0, answer.size() - 1));
  return answer;
}

/// What follows the last of the phrases that announce an answer, up to the end of its line or sentence.
Found announced(std::string_view response, bool finished) {
  std::string lower(response);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  std::size_t from = std::string::npos;
  for (const std::string_view phrase : {"answer is", "answer:", "answer :", "answer**:", "answer:**", "answer equals", "answer =", "result is", "#### "}) {
    const std::size_t at = lower.rfind(phrase);
    if (at != std::string::npos && (from == std::string::npos || at + phrase.size() > from)) from = at + phrase.size();
  }
  if (from == std::string::npos) return std::nullopt;
  std::string_view rest = response.substr(from);
  rest.remove_prefix(std::min(rest.find_first_not_of(" :*\t\n\r"), rest.size()));
  const std::size_t line = std::min(rest.find('\n'), rest.size());
  const std::size_t sentence = std::min(rest.find(". "), line);
  const bool complete = finished || sentence < rest.size();
  std::string_view answer = until_remark(trim(rest.substr(0, sentence)));
  const std::string_view formula = last_formula(answer);
  if (!formula.empty()) return Extracted{std::string(formula), complete};
  while (!answer.empty() && (answer.ends_with('.') || answer.ends_with('*'))) answer = trim(answer.substr(0, answer.size() - 1));
  if (answer.empty()) return std::nullopt;
  return Extracted{std::string(answer), complete};
}

/// For mathematics: a box, an answer tag, an announced answer, the last formula, and a last line that is short, in this order.
Found math_answer(std::string_view response, bool finished) {
  constexpr std::size_t kShortLine = 200;  // bytes; longer ones are prose
  for (const auto rule : {boxed, answer_tag, announced})
    if (auto found = rule(response, finished)) return found;
  if (const std::string_view formula = last_formula(response); !formula.empty()) return Extracted{std::string(formula), true};
  auto line = final_line(response, finished);
  return line && line->text.size() <= kShortLine ? line : std::nullopt;
}

struct Row {
  ExtractionRule rule;
  std::optional<Extracted> (*find)(std::string_view response, bool finished);
};

constexpr Row kRows[] = {
    {{"whole", "the response itself", false}, whole},
    {{"integer", "the response, where it is an integer and nothing else; 1,050, U+2212 for a minus and a closing period are understood", true}, integer},
    {{"last_number", "the last number of a response that ended by itself", true}, last_number},
    {{"gsm8k_strict", "the first number behind \"#### \", as lm-evaluation-harness's strict-match", true}, gsm8k_strict},
    {{"gsm8k_flexible", "the last thing like a number, as lm-evaluation-harness's flexible-extract", true}, gsm8k_flexible},
    {{"boxed", "what the last \\boxed{...} holds", false}, boxed},
    {{"answer_tag", "what the last <answer>...</answer> holds", false}, answer_tag},
    {{"math_answer", "the last \\boxed{...}; else <answer>, what follows \"the answer is\", the last formula, or a short last line", false}, math_answer},
    {{"final_line", "the last line of a response that ended by itself", false}, final_line},
    {{"marker", "the rest of the line behind the last task.answer_marker", false}, nullptr},
};
constexpr std::string_view kRegex = "regex:";

const Row* row_of(const std::string& rule) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.rule.name == rule; });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

const std::vector<ExtractionRule>& extraction_rules() {
  static const std::vector<ExtractionRule> rules = [] {
    std::vector<ExtractionRule> all;
    for (const Row& row : kRows) all.push_back(row.rule);
    all.push_back({"regex:PATTERN", "the last match of a regular expression (PCRE2): its first group, or all of it where it has none", false});
    return all;
  }();
  return rules;
}

Extractor::Extractor(const std::string& rule, std::string marker) : rule_(rule), marker_(std::move(marker)) {
  if (rule.starts_with(kRegex)) {
    pattern_ = std::make_shared<const AnswerPattern>(rule.substr(kRegex.size()));
    return;
  }
  std::vector<std::string> names;
  for (const auto& known : extraction_rules()) names.emplace_back(known.name);
  const Row* row = row_of(rule);
  require<ConfigError>(row != nullptr, fmt::format("task.extract \"{}\" is unknown", rule), "answers could not be found", suggest_name(rule, names));
  find_ = row->find;
}

bool Extractor::numbers_only() const {
  const Row* row = row_of(rule_);
  return row != nullptr && row->rule.numbers_only;
}

std::string Extractor::shown() const { return rule_ == "marker" ? fmt::format("marker {}", marker_) : rule_; }

std::optional<Extracted> Extractor::find(std::string_view response, bool finished) const {
  if (pattern_) {
    const auto match = pattern_->last_match(response);
    if (!match) return std::nullopt;
    return Extracted{std::string(trim(match->text)), finished || match->end < response.size()};
  }
  if (find_ != nullptr) return find_(response, finished);
  const auto marked = find_marked_answer(response, marker_);
  if (!marked || marked->answer.empty()) return std::nullopt;
  return Extracted{std::string(marked->answer), finished || !marked->reaches_end};
}

}  // namespace rollcall::text
