// The table of extraction rules and their functions.
#include "text/answer/extract.hpp"

#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "text/answer/answer_pattern.hpp"
#include "text/answer/answer_text.hpp"
#include "text/answer/answer_tokens.hpp"
#include "text/answer/boxed_answer.hpp"
#include "text/chat/thoughts.hpp"
#include "text/conclusion/final_answer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text {
namespace {

using Found = std::optional<Extracted>;

// U+2212, which models often write as a minus
constexpr std::string_view kMinus = "\xE2\x88\x92";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
std::size_t digits_at(std::string_view s, std::size_t at) {
  std::size_t end = at;
  while (end < s.size() && is_digit(s[end])) ++end;
  return end - at;
}

/// The end of the digits from byte `at` on with commas between thousands. 1,050 is one number, but
/// 1,2 and 1,0500 are two.
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

/// Whether there is a minus right before byte `at` that is not between two operands. "12-5" ends in
/// 5, and "= -5" in -5.
bool is_negative(std::string_view s, std::size_t at) {
  std::string_view before = s.substr(0, at);
  if (before.ends_with('$')) before.remove_suffix(1);
  const std::size_t sign = before.ends_with('-') ? 1 : before.ends_with(kMinus) ? kMinus.size() : 0;
  if (sign == 0) return false;
  before.remove_suffix(sign);
  return before.empty() ||
         !(std::isalnum(static_cast<unsigned char>(before.back())) != 0 || before.back() == ')');
}

Found whole(std::string_view response, bool finished) {
  return Extracted{std::string(trim(response)), finished};
}

Found integer(std::string_view response, bool finished) {
  std::string_view s = trim(response);
  const std::size_t sign = s.starts_with('-') || s.starts_with('+') ? 1
                           : s.starts_with(kMinus)                  ? kMinus.size()
                                                                    : 0;
  const bool negative = sign > 0 && s.front() != '+';
  s.remove_prefix(sign);
  if (s.ends_with('.')) s.remove_suffix(1);
  if (digits_at(s, 0) == 0 || whole_number_end(s, 0) != s.size()) return std::nullopt;
  return Extracted{std::string(negative ? "-" : "") + without(s, ","), finished};
}

/// Whether the number at bytes [at, end) is one of several that its line offers: "41 or 42", also
/// with nouns after them.
bool is_hedged(std::string_view s, std::size_t at, std::size_t end) {
  constexpr std::size_t kMostBefore = 120, kMostAfter = 120;  // bytes
  constexpr std::size_t kMostTokens = 8;
  const std::size_t line = s.rfind('\n', at) == std::string_view::npos ? 0 : s.rfind('\n', at) + 1,
                    begin = std::max(line, at - std::min(at, kMostBefore));
  const Tokens before(s.substr(begin, at - begin)),
      after(s.substr(end, std::min(s.find('\n', end), end + kMostAfter) - end));
  bool joined = false;
  for (std::size_t i = before.size(), seen = 0; i-- > 0 && seen < kMostTokens; ++seen) {
    joined = joined || before.word(i) == "or";
    if (before.is(i, Kind::number)) return joined;
    if (before.is(i, Kind::stop) || (!joined && before.is(i, Kind::equals))) break;
  }
  joined = false;
  for (std::size_t i = 0; i < after.size() && i < kMostTokens; ++i) {
    joined = joined || after.word(i) == "or";
    if (after.is(i, Kind::number)) return joined;
    if (after.is(i, Kind::stop) || after.is(i, Kind::equals)) break;
  }
  return false;
}

/// Whether the digits at byte `at` are the end of a time or ratio, with a colon and a digit before
/// them. They are not a number by themselves.
bool is_in_ratio(std::string_view s, std::size_t at) {
  return at >= 2 && s[at - 1] == ':' && is_digit(s[at - 2]);
}

Found last_number(std::string_view response, bool finished) {
  std::size_t begin = 0, end = 0;
  for (std::size_t at = 0; at < response.size();) {
    if (!is_digit(response[at])) {
      ++at;
      continue;
    }
    begin = at, end = whole_number_end(response, at);
    if (end < response.size() && response[end] == '.')
      end += digits_at(response, end + 1) > 0 ? 1 + digits_at(response, end + 1) : 0;
    at = end;
  }
  if (end == 0 || is_in_ratio(response, begin) || is_hedged(response, begin, end))
    return std::nullopt;
  return Extracted{std::string(is_negative(response, begin) ? "-" : "") +
                       without(response.substr(begin, end - begin), ","),
                   finished};
}

// Both rules of GSM8K follow lm-evaluation-harness, lm_eval/tasks/gsm8k/gsm8k.yaml (filters
// strict-match and flexible-extract, regexes_to_ignore), except that offering two answers is not
// rewarded: the last #### counts and not the first, and "41 or 42" is not an answer. A match also
// counts if the token limit cut the response, unless it reaches the cut, where a digit may be
// missing.
Found gsm8k_number(std::string_view response, std::size_t begin, std::size_t end, bool finished) {
  std::string number = without(response.substr(begin, end - begin), ",$");
  if (number.ends_with('.')) number.pop_back();
  if (number.find_first_of("0123456789") == std::string::npos || is_in_ratio(response, begin) ||
      is_hedged(response, begin, end))
    return std::nullopt;
  return Extracted{number, finished || end < response.size()};
}

/// The number of the last match of #### ?(\-?\$?[0-9\.\,]+).
Found gsm8k_strict(std::string_view response, bool finished) {
  constexpr std::string_view kMark = "####";
  for (std::size_t at = response.rfind(kMark); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : response.rfind(kMark, at - 1)) {
    std::size_t first =
        std::min(response.find_first_not_of(" \t*$", at + kMark.size()), response.size());
    const std::string_view rest = response.substr(first);
    const std::size_t sign = rest.starts_with('-')      ? 1
                             : rest.starts_with(kMinus) ? kMinus.size()
                                                        : 0;
    first = std::min(response.find_first_not_of('$', first + sign), response.size());
    const std::size_t end =
        std::min(response.find_first_not_of("0123456789.,", first), response.size());
    if (end == first ||
        response.substr(first, end - first).find_first_of("0123456789") == std::string_view::npos)
      continue;
    auto found = gsm8k_number(response, first, end, finished);
    if (found && sign > 0) found->text = "-" + found->text;
    return found;
  }
  return std::nullopt;
}

/// The number of the last match of (-?[$0-9.,]{2,})|(-?[0-9]+).
Found gsm8k_flexible(std::string_view response, bool finished) {
  std::size_t begin = 0, last = 0;
  for (std::size_t at = 0; at < response.size();) {
    const std::size_t first = at + (response[at] == '-' ? 1 : 0);
    const std::size_t end =
        std::min(response.find_first_not_of("$0123456789.,", first), response.size());
    const bool one_digit = end == first + 1 && is_digit(response[first]);
    if (end >= first + 2 || one_digit) {
      begin = at, last = end;
      at = end;
    } else {
      ++at;
    }
  }
  return last == 0 ? std::nullopt : gsm8k_number(response, begin, last, finished);
}

Found boxed(std::string_view response, bool) {
  auto held = boxed_answer(response);
  return held ? Found(Extracted{std::move(*held), true}) : std::nullopt;
}

Found answer_tag(std::string_view response, bool) {
  const auto held = tagged_answer(response);
  return held ? Found(Extracted{std::string(*held), true}) : std::nullopt;
}

Found final_line(std::string_view response, bool finished) {
  const std::string_view text = trim(response);
  if (text.empty()) return std::nullopt;
  const std::size_t line = text.rfind('\n');
  return Extracted{std::string(trim(line == std::string_view::npos ? text : text.substr(line + 1))),
                   finished};
}

Found math_answer(std::string_view response, bool finished) {
  auto found = final_answer(response, finished);
  return found ? Found(Extracted{std::move(found->text), found->complete}) : std::nullopt;
}

struct Row {
  ExtractionRule rule;
  std::optional<Extracted> (*find)(std::string_view response, bool finished);
};

constexpr Row kRows[] = {
    {{"whole", "the response itself", false}, whole},
    {{"integer",
      "the response, where it is an integer and nothing else; 1,050, U+2212 for a minus and a closing period are understood",
      true},
     integer},
    {{"last_number", "the last number of a response that ended by itself", true}, last_number},
    {{"gsm8k_strict",
      "the number behind the last ####, nearly as lm-evaluation-harness's strict-match", true},
     gsm8k_strict},
    {{"gsm8k_flexible",
      "the last thing like a number, nearly as lm-evaluation-harness's flexible-extract", true},
     gsm8k_flexible},
    {{"boxed", "what the boxes of the last sentence with \\boxed{...} hold", false}, boxed},
    {{"answer_tag", "what the last <answer>...</answer> holds", false}, answer_tag},
    {{"math_answer",
      "the last \\boxed{...}; else <answer>, the last announcement (jobs/announcements.md), the last formula, or a short last line",
      false},
     math_answer},
    {{"final_line", "the last line of a response that ended by itself", false}, final_line},
    {{"marker", "the rest of the line behind the last task.answer_marker", false}, nullptr},
};
constexpr std::string_view kRegex = "regex:";

const Row* row_of(const std::string& rule) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.rule.name == rule; });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

const std::vector<ExtractionRule>& extraction_rules() {
  static const std::vector<ExtractionRule> rules = [] {
    std::vector<ExtractionRule> all;
    for (const Row& row : kRows) all.push_back(row.rule);
    all.push_back(
        {"regex:PATTERN",
         "the last match of a regular expression (PCRE2): its first group, or all of it where it has none",
         false});
    return all;
  }();
  return rules;
}

Extractor::Extractor(const std::string& rule, std::string marker)
    : rule_(rule), marker_(std::move(marker)) {
  if (rule.starts_with(kRegex)) {
    pattern_ = std::make_shared<const AnswerPattern>(rule.substr(kRegex.size()));
    return;
  }
  std::vector<std::string> names;
  for (const auto& known : extraction_rules()) names.emplace_back(known.name);
  const Row* row = row_of(rule);
  require<ConfigError>(row != nullptr, fmt::format("task.extract \"{}\" is unknown", rule),
                       "answers could not be found", suggest_name(rule, names));
  find_ = row->find;
}

bool Extractor::numbers_only() const {
  const Row* row = row_of(rule_);
  return row != nullptr && row->rule.numbers_only;
}

std::string Extractor::shown() const {
  return rule_ == "marker" ? fmt::format("marker {}", marker_) : rule_;
}

std::optional<Extracted> Extractor::find(std::string_view given, bool finished) const {
  std::string storage;
  const std::string_view response = pattern_ || find_ == whole ? given : spoken(given, storage);
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
