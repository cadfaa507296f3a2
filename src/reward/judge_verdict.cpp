// The table of rules by which verdicts are found.
#include "reward/judge_verdict.hpp"

#include "base/error.hpp"
#include "base/nearest.hpp"

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

/// All of `text` as one finite number.
Found number(std::string_view text) {
  double value = 0.0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  return fault == std::errc() && end == text.data() + text.size() && std::isfinite(value) ? Found(value) : std::nullopt;  // "nan" is read as a number
}

/// The first word that is one of two; their case does not matter.
Found one_of_two(std::string_view said, bool finished, std::string_view good, std::string_view bad) {
  for (std::size_t at = 0; at < said.size();) {
    if (!is_letter(said[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    std::string word;
    for (; end < said.size() && is_letter(said[end]); ++end) word += lower(said[end]);
    if (end == said.size() && !finished) return std::nullopt;  // a word that the limit cut: "no" may have become "not"
    if (word == good || word == bad) return word == good ? 1.0 : 0.0;
    at = end;
  }
  return std::nullopt;
}

Found first_integer(std::string_view said, bool finished) {
  const auto first = std::find_if(said.begin(), said.end(), is_digit);
  if (first == said.end()) return std::nullopt;
  const auto end = std::find_if_not(first, said.end(), is_digit);
  if (!finished && (end == said.end() || (*end == '.' && end + 1 == said.end()))) return std::nullopt;  // a digit may follow
  const bool is_part = end != said.end() && *end == '.' && end + 1 != said.end() && is_digit(end[1]);   // 7.5 is no whole number
  const auto value = number(std::string_view(&*first, std::size_t(end - first)));
  if (is_part || !value) return std::nullopt;
  return first != said.begin() && first[-1] == '-' ? -*value : *value;
}

/// The last <score>...</score>, a form that prompts of model judges ask for.
Found score_tag(std::string_view said, bool) {
  constexpr std::string_view kOpen = "<score>", kClose = "</score>";
  const std::size_t close = said.rfind(kClose);
  if (close == std::string_view::npos) return std::nullopt;
  const std::size_t open = said.substr(0, close).rfind(kOpen);
  if (open == std::string_view::npos) return std::nullopt;
  std::string_view inside = said.substr(open + kOpen.size(), close - open - kOpen.size());
  inside.remove_prefix(std::min(inside.find_first_not_of(" \t\r\n"), inside.size()));
  inside = inside.substr(0, inside.find_last_not_of(" \t\r\n") + 1);
  return number(inside);
}

/// The paragraph of the first mistake, or -1, as critics answer by the protocol of ProcessBench (arXiv:2412.06559), FAPO's among them.
Found error_index(std::string_view said, bool finished) {
  static const text::Extractor boxed("boxed");
  const auto found = boxed.find(said, finished);
  const auto value = found ? number(found->text) : std::nullopt;
  if (!value || *value != std::trunc(*value) || *value < -1.0) return std::nullopt;
  return *value == -1.0 ? 1.0 : 0.0;
}

struct Row {
  VerdictRule rule;
  Found (*find)(std::string_view said, bool finished);  ///< none for two words
  bool is_scaled;                                       ///< it gives any number, not 0 or 1
  bool takes_first;                                     ///< not the last
};
constexpr std::string_view kWords = "words:";
constexpr const char* kYesNo = "yes_no";
constexpr Row kRows[] = {
    {{"yes_no", "the first yes or no: 1 or 0; words:GOOD|BAD has two other words"}, nullptr, false, true},
    {{"first_integer", "the first whole number"}, first_integer, true, true},
    {{"score_tag", "the number in the last <score>...</score>"}, score_tag, true, false},
    {{"error_index", "the last \\boxed{i}, the paragraph of the first mistake: 1 for -1 (there is none), else 0"}, error_index, false, false},
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

VerdictReader::VerdictReader(const std::string& given, double lowest, double highest) : lowest_(lowest), highest_(highest) {
  const bool own_words = given.starts_with(kWords);
  const std::string words = own_words ? given.substr(kWords.size()) : "yes|no", rule = own_words ? kYesNo : given;
  if (rule == kYesNo) {
    const auto bar = std::min(words.find('|'), words.size());
    for (const char c : words.substr(0, bar)) good_ += lower(c);
    for (const char c : words.substr(std::min(bar + 1, words.size()))) bad_ += lower(c);
    const auto is_word = [](const std::string& word) { return !word.empty() && std::all_of(word.begin(), word.end(), is_letter); };
    require<ConfigError>(is_word(good_) && is_word(bad_) && good_ != bad_, fmt::format("judge.extract is \"{}\"", given), "verdicts are one of two words",
                         "write for example words:correct|incorrect");
  }
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return rule == r.rule.name; });
  if (row != std::end(kRows)) {
    find_ = row->find, takes_first_ = row->takes_first;
    require<ConfigError>(row->is_scaled || (lowest == 0.0 && highest == 1.0),
                         fmt::format("judge.scale is [{}, {}], and judge.extract {}", lowest, highest, rule), "its verdicts are 0 and 1",
                         "leave judge.scale out, or choose a rule that finds numbers");
    return;
  }
  std::vector<std::string> names;
  for (const auto& known : verdict_rules()) names.emplace_back(known.name);
  const auto& others = text::extraction_rules();
  for (const auto& known : others) names.emplace_back(known.name);
  const bool known = rule.starts_with("regex:") || std::any_of(others.begin(), others.end(), [&](const auto& r) { return rule == r.name; });
  require<ConfigError>(known && rule != "marker", fmt::format("judge.extract \"{}\" is unknown", rule), "verdicts could not be found",
                       suggest_name(rule, names));
  extractor_.emplace(rule);
}

std::optional<double> VerdictReader::read(std::string_view said, bool finished) const {
  Found value;
  if (find_ != nullptr) {
    value = find_(said, finished);
  } else if (!good_.empty()) {
    value = one_of_two(said, finished, good_, bad_);
  } else if (const auto found = extractor_->find(said, finished); found && found->complete) {
    value = number(found->text);
  }
  if (!value || *value < lowest_ || *value > highest_) return std::nullopt;
  return (*value - lowest_) / (highest_ - lowest_);
}

}  // namespace rollcall::reward
