// Goes backwards from the last box, as long as the text between two boxes joins them.
#include "text/answer/boxed_answer.hpp"

#include "text/answer/answer_text.hpp"
#include "text/answer/answer_tokens.hpp"

#include <algorithm>
#include <array>

namespace rollcall::text {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::size_t kMostBoxes = 20;     // boxes in one answer
constexpr std::size_t kMostBetween = 200;  // bytes between two boxes of one answer

struct Box {
  std::size_t begin, end;   ///< bytes [begin, end) of the command; kNone if it is not closed
  std::size_t inner, last;  ///< bytes [inner, last) of its content
};

/// The byte after the brace that closes the one at byte `open`; kNone if it is not closed.
std::size_t closing(std::string_view s, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < s.size(); ++at) {
    if (s[at] == '\\') ++at;  // \{ and \} are characters of the answer
    else if (s[at] == '{') ++depth;
    else if (s[at] == '}' && --depth == 0) return at + 1;
  }
  return kNone;
}

/// The last box with braces that begins before byte `before`.
std::optional<Box> box_before(std::string_view s, std::size_t before) {
  // Most answers have no command, and the search from the end is slow.
  if (s.find('\\') == kNone) return std::nullopt;
  for (std::string_view left = s.substr(0, before); !left.empty();) {
    const std::size_t boxed = left.rfind("\\boxed"), framed = left.rfind("\\fbox");
    const std::size_t begin = boxed == kNone    ? framed
                              : framed == kNone ? boxed
                                                : std::max(boxed, framed);
    if (begin == kNone) return std::nullopt;
    const std::size_t open = s.find_first_not_of(" \t\r\n", begin + (begin == boxed ? 6 : 5));
    if (open != kNone && s[open] == '{') {
      const std::size_t end = closing(s, open);
      return Box{begin, end, open + 1, end == kNone ? kNone : end - 1};
    }
    left = s.substr(0, begin);
  }
  return std::nullopt;
}

/// The text between two boxes without dollars and LaTeX's spaces.
std::string plain(std::string_view between) {
  std::string out;
  for (std::size_t i = 0; i < between.size(); ++i) {
    const char c = between[i];
    if (c == '\\') {
      std::size_t end = i + 1;
      while (end < between.size() && std::isalpha(static_cast<unsigned char>(between[end])) != 0)
        ++end;
      const std::string_view name = between.substr(i + 1, end - i - 1);
      const auto spaces = {"text",         "quad",   "qquad", "mathrm", "textbf",
                           "displaystyle", "textit", "mbox",  ""};
      const bool is_space = std::any_of(spaces.begin(), spaces.end(),
                                        [&](const char* known) { return name == known; });
      out += is_space ? " " : "\\" + std::string(name);
      i = std::max(end, i + 2) - 1;
    } else {
      out += std::string_view("${}~&*_`").find(c) != kNone ? ' ' : c;
    }
  }
  return out;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool hedges(std::string_view word) {
  return is_one_of(word, {"or", "maybe", "perhaps", "possibly", "might", "may", "could",
                          "alternatively", "either", "otherwise", "oder", "ou"});
}
bool concludes(std::string_view word) {
  return is_one_of(
      word, {"so",    "therefore", "thus",    "hence",   "answer",  "is",     "get",      "gives",
             "give",  "which",     "rather",  "not",     "wait",    "no",     "actually", "correct",
             "times", "plus",      "minus",   "instead", "becomes", "equals", "then",     "obtain",
             "we",    "yields",    "finally", "total",   "sum",     "to",     "from",     "than"});
}

/// The mark that joins two boxes with text between them; empty if they are not pieces of one
/// answer.
std::string_view joint(std::string_view between) {
  if (between.size() > kMostBetween) return {};
  const std::string said = plain(between);
  const Tokens t(said);
  bool or_word = false, and_word = false, is_list = true, concluding = false;
  for (std::size_t i = 0; i < t.size(); ++i) {
    const std::string_view word = t.word(i);
    const bool ends = t.is(i, Kind::stop) && t.is_spaced(i + 1),
               label = t.is(i + 1, Kind::equals) && word.size() <= 3 && !word.empty();
    // the number of an item, such as "2."
    if (t.is(i, Kind::number) && i > 0 && t.is(i - 1, Kind::line) &&
        (t.is(i + 1, Kind::stop) || t.is(i + 1, Kind::close))) {
      ++i;
      continue;
    }
    // the letter of a part, such as "(b)"
    const bool part = word.size() == 1 && (t.is(i + 1, Kind::close) || t.is(i + 1, Kind::colon));
    if (ends && !(i + 1 == t.size() && i == 0)) return {};
    or_word = or_word || hedges(word);
    and_word = and_word || is_one_of(word, {"and", "und", "et"});
    concluding = concluding || concludes(word) || t.is(i, Kind::arrow) ||
                 (t.is(i, Kind::equals) && !(i > 0 && t.is(i - 1, Kind::word)));
    const bool mark = t.is(i, Kind::comma) || t.is(i, Kind::semicolon) || t.is(i, Kind::line) ||
                      t.is(i, Kind::bullet) || t.is(i, Kind::equals) || t.is(i, Kind::open) ||
                      t.is(i, Kind::close) || t.is(i, Kind::mark);
    is_list = is_list &&
              (mark || label || part || is_one_of(word, {"and", "or", "und", "oder", "et", "ou"}));
  }
  if (or_word &&
      !(concluding &&
        !is_one_of(t.word(t.size() - 1), {"or", "maybe", "perhaps", "possibly", "be"}) && !is_list))
    return " or ";
  if (concluding && !is_list) return {};
  return and_word ? " and " : is_list && !concluding ? ", " : std::string_view();
}

/// Whether a box is only mentioned, as in "I put it in \boxed{}", which repeats the task.
bool is_only_named(std::string_view s, const Box& box) {
  std::string_view before = s.substr(0, box.begin);
  while (!before.empty() && std::string_view(" \t\n$*`(").find(before.back()) != kNone)
    before.remove_suffix(1);
  const std::size_t word = before.find_last_of(" \t\n*`(");
  return is_one_of(word == kNone ? before : before.substr(word + 1),
                   {"in", "In", "inside", "within", "into", "using"});
}

}  // namespace

std::optional<std::string> boxed_answer(std::string_view s) {
  auto box = box_before(s, s.size());
  if (!box || box->end == kNone) return std::nullopt;
  const auto content = [&](const Box& b) { return trim(s.substr(b.inner, b.last - b.inner)); };
  while (box && box->end != kNone && content(*box).empty() && is_only_named(s, *box))
    box = box_before(s, box->begin);
  if (!box || box->end == kNone) return std::string();
  std::string answer(content(*box));
  if (answer.empty()) return answer;
  bool all_equal = true;
  const std::string last = answer;
  for (std::size_t boxes = 1; boxes < kMostBoxes; ++boxes) {
    const auto before = box_before(s, box->begin);
    if (!before || before->end == kNone || before->end > box->begin || content(*before).empty())
      break;
    const std::string_view join = joint(s.substr(before->end, box->begin - before->end));
    if (join.empty()) break;
    all_equal = all_equal && content(*before) == last;
    answer = std::string(content(*before)) + std::string(join) + answer;
    box = before;
  }
  return all_equal ? last : answer;
}

}  // namespace rollcall::text
