// The table of rules that find verdicts.
#include "reward/judge_verdict.hpp"

#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "reward/verdict_words.hpp"
#include "text/answer/answer_text.hpp"
#include "text/answer/plain_latex.hpp"
#include "text/chat/thoughts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace rollcall::reward {
namespace {

using Found = std::optional<double>;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

// Characters used as a minus sign: U+002D, U+2212, U+2013, U+FE63, U+FF0D.
constexpr std::string_view kMinus[] = {"-", "\xE2\x88\x92", "\xE2\x80\x93", "\xEF\xB9\xA3",
                                       "\xEF\xBC\x8D"};

/// Bytes of the minus at the end, or the beginning, of the text; 0 if there is none.
std::size_t minus_before(std::string_view text) {
  for (const std::string_view minus : kMinus)
    if (text.ends_with(minus)) return minus.size();
  return 0;
}
std::size_t minus_at(std::string_view text) {
  for (const std::string_view minus : kMinus)
    if (text.starts_with(minus)) return minus.size();
  return 0;
}

/// The whole of `text` as one finite number.
Found number(std::string_view text) {
  const std::size_t minus = minus_at(text), sign = minus > 0               ? minus
                                                   : text.starts_with('+') ? 1
                                                                           : 0;
  text.remove_prefix(sign);
  double value = 0.0;
  const auto [end, fault] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  // excludes "nan" and a second sign, which from_chars() would take
  const bool is_number = !text.empty() && (is_digit(text.front()) || text.front() == '.');
  if (!is_number || fault != std::errc() || end != text.data() + text.size() ||
      !std::isfinite(value))
    return std::nullopt;
  return minus > 0 ? -value : value;
}

/// Whether digits are part of a word and not a number: GPT4, 2nd.
bool is_in_word(std::string_view said, std::size_t begin, std::size_t end) {
  const bool glued = begin > 0 && (is_letter(said[begin - 1]) || said[begin - 1] == '_');
  for (const std::string_view ordinal : {"st", "nd", "rd", "th"})
    if (said.substr(end).starts_with(ordinal)) return true;
  return glued;
}

/// Whether a comma and exactly three digits are at `at`.
bool is_group(std::string_view said, std::size_t at) {
  const auto digit = [&](std::size_t i) { return i < said.size() && is_digit(said[i]); };
  return said.substr(at).starts_with(',') && digit(at + 1) && digit(at + 2) && digit(at + 3) &&
         !digit(at + 4);
}

Found first_integer(std::string_view given, bool finished) {
  const std::string plain = unquoted(given, finished);
  const std::string_view said = plain;
  for (std::size_t at = 0; at < said.size(); ++at) {
    if (!is_digit(said[at])) continue;
    std::size_t end = at;
    std::string digits;
    while (end < said.size() && is_digit(said[end])) digits += said[end++];
    // commas between groups of digits, as in 1,050
    for (const bool short_first = digits.size() <= 3; short_first && is_group(said, end); end += 4)
      digits += said.substr(end + 1, 3);
    // "7." may still become 7.5
    const bool open_end =
        end == said.size() || (end + 1 == said.size() && (said[end] == '.' || said[end] == ','));
    if (!finished && open_end) return std::nullopt;  // a digit may follow
    if (is_in_word(said, at, end)) {
      at = end - 1;
      continue;
    }
    const bool fraction_behind =
                   end + 1 < said.size() && said[end] == '.' && is_digit(said[end + 1]),
               fraction_before = at > 0 && said[at - 1] == '.';
    // 7.5 and .5 are not whole numbers
    if (fraction_behind || fraction_before) return std::nullopt;
    if (const std::size_t dash = minus_at(said.substr(end)); dash > 0) {  // 1-10 is a scale
      if (!finished && end + dash >= said.size()) return std::nullopt;
      const std::size_t second = end + dash,
                        last = std::min(said.find_first_not_of("0123456789", second), said.size());
      if (last > second) {
        if (!finished && last == said.size()) return std::nullopt;
        at = last - 1;
        continue;
      }
    }
    const auto value = number(digits);
    const std::size_t minus = minus_before(said.substr(0, at));
    return value && minus > 0 ? Found(-*value) : value;
  }
  return std::nullopt;
}

/// The text without surrounding emphasis and quotation marks, and without one closing mark.
std::string_view bare(std::string_view said) {
  said = text::trim(said);
  constexpr std::string_view kAround = "*_`\"";
  while (!said.empty() && kAround.find(said.front()) != std::string_view::npos)
    said.remove_prefix(1);
  bool closed = false;
  while (!said.empty() && (kAround.find(said.back()) != std::string_view::npos ||
                           (!closed && (said.back() == '.' || said.back() == '!')))) {
    closed = closed || said.back() == '.' || said.back() == '!';
    said.remove_suffix(1);
  }
  return text::trim(said);
}

Found yes_no_only(std::string_view said, bool finished) {
  std::string word;
  for (const char c : bare(said)) word += lower(c);
  return !finished || (word != "yes" && word != "no") ? std::nullopt
                                                      : Found(word == "yes" ? 1.0 : 0.0);
}

Found integer_only(std::string_view said, bool finished) {
  const std::string_view text = bare(said);
  const bool whole = text.find('.') == std::string_view::npos;
  return finished && whole ? number(text) : std::nullopt;
}

/// The number in the last <score>...</score>, a form that prompts of judge models ask for.
Found score_tag(std::string_view said, bool) {
  constexpr std::string_view kOpen = "<score>", kClose = "</score>";
  const std::size_t close = said.rfind(kClose);
  if (close == std::string_view::npos) return std::nullopt;
  const std::size_t open = said.substr(0, close).rfind(kOpen);
  if (open == std::string_view::npos) return std::nullopt;
  std::string_view inside = said.substr(open + kOpen.size(), close - open - kOpen.size());
  return number(text::trim(inside));
}

/// 1 if the box holds -1, which says that no paragraph has a mistake, and 0 if it holds the index
/// of the first paragraph with one. Critics that follow ProcessBench's protocol (arXiv:2412.06559),
/// including FAPO's, answer this way.
Found error_index(std::string_view said, bool finished) {
  static const text::Extractor boxed("boxed");
  const auto found = boxed.find(said, finished);
  const auto value = found ? number(text::plain_latex(found->text)) : std::nullopt;
  if (!value || *value != std::trunc(*value) || *value < -1.0) return std::nullopt;
  return *value == -1.0 ? 1.0 : 0.0;
}

struct Row {
  VerdictRule rule;
  Found (*find)(std::string_view said, bool finished);  ///< nullptr for a rule of two words
  bool is_scaled;    ///< whether it gives any number and not just 0 or 1
  bool takes_first;  ///< whether it takes the first verdict and not the last
};
constexpr std::string_view kWords = "words:";
constexpr const char* kYesNo = "yes_no";
constexpr Row kRows[] = {
    {{"yes_no",
      "the first yes or no that is said as a verdict: 1 or 0; words:GOOD|BAD has two other words"},
     nullptr,
     false,
     true},
    {{"yes_no_only", "yes or no, and nothing else"}, yes_no_only, false, false},
    {{"first_integer", "the first whole number"}, first_integer, true, true},
    {{"integer_only", "a whole number, and nothing else"}, integer_only, true, false},
    {{"score_tag", "the number in the last <score>...</score>"}, score_tag, true, false},
    {{"error_index",
      "the last \\boxed{i}, the paragraph of the first mistake: 1 for -1 (there is none), else 0"},
     error_index,
     false,
     false},
};

}  // namespace

const std::vector<VerdictRule>& verdict_rules() {
  static const std::vector<VerdictRule> rules = [] {
    std::vector<VerdictRule> all;
    for (const Row& row : kRows) all.push_back(row.rule);
    return all;
  }();
  return rules;
}

VerdictReader::VerdictReader(const std::string& given, double lowest, double highest)
    : lowest_(lowest), highest_(highest) {
  const bool own_words = given.starts_with(kWords);
  const std::string words = own_words ? given.substr(kWords.size()) : "yes|no",
                    rule = own_words ? kYesNo : given;
  if (rule == kYesNo) {
    const auto bar = std::min(words.find('|'), words.size());
    for (const char c : words.substr(0, bar)) good_ += lower(c);
    for (const char c : words.substr(std::min(bar + 1, words.size()))) bad_ += lower(c);
    const auto is_word = [](const std::string& word) {
      return !word.empty() && std::all_of(word.begin(), word.end(), is_letter);
    };
    require<ConfigError>(is_word(good_) && is_word(bad_) && good_ != bad_,
                         fmt::format("judge.extract is \"{}\"", given),
                         "verdicts are one of two words",
                         "write for example words:correct|incorrect");
  }
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return rule == r.rule.name; });
  if (row != std::end(kRows)) {
    find_ = row->find, takes_first_ = row->takes_first;
    require<ConfigError>(
        row->is_scaled || (lowest == 0.0 && highest == 1.0),
        fmt::format("judge.scale is [{}, {}], and judge.extract {}", lowest, highest, rule),
        "its verdicts are 0 and 1", "leave judge.scale out, or choose a rule that finds numbers");
    return;
  }
  std::vector<std::string> names;
  for (const auto& known : verdict_rules()) names.emplace_back(known.name);
  const auto& others = text::extraction_rules();
  for (const auto& known : others) names.emplace_back(known.name);
  const bool known =
      rule.starts_with("regex:") ||
      std::any_of(others.begin(), others.end(), [&](const auto& r) { return rule == r.name; });
  require<ConfigError>(known && rule != "marker",
                       fmt::format("judge.extract \"{}\" is unknown", rule),
                       "verdicts could not be found", suggest_name(rule, names));
  extractor_.emplace(rule);
}

std::optional<double> VerdictReader::read(std::string_view given, bool finished) const {
  if (text::ends_in_thought(given)) return std::nullopt;
  std::string storage;
  const std::string_view said = text::without_thoughts(given, storage);
  Found value;
  if (find_ != nullptr) {
    value = find_(said, finished);
  } else if (!good_.empty()) {
    value = first_verdict_word(said, finished, good_, bad_);
  } else if (const auto found = extractor_->find(said, finished); found && found->complete) {
    value = number(found->text);
  }
  if (!value || *value < lowest_ || *value > highest_) return std::nullopt;
  return (*value - lowest_) / (highest_ - lowest_);
}

}  // namespace rollcall::reward
