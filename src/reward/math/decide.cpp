// Reads both texts in every way that their spellings allow, and compares them.
#include "reward/math/decide.hpp"

#include "reward/math/choice.hpp"
#include "reward/math/compare/comparison.hpp"
#include "text/answer/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace rollcall::reward::math {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '$'; }
bool is_word_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// The text without dollar signs, closing periods and white space. White space between letters and
/// digits stays, because it separates words and numbers there.
std::string bare(std::string_view text) {
  std::string kept;
  bool spaced = false;
  for (const char c : text) {
    spaced |= is_blank(c);
    if (is_blank(c)) continue;
    if (spaced && !kept.empty() && is_word_part(kept.back()) && is_word_part(c)) kept += ' ';
    spaced = false;
    kept += c;
  }
  while (kept.ends_with('.')) kept.pop_back();
  return kept;
}

/// Whether both texts are the same letters in different orders: three or more letters, or two, one
/// of them a capital.
bool are_shuffled_letters(std::string a, std::string b) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  if (a == b || a.size() != b.size() || a.size() < 2 || !std::all_of(a.begin(), a.end(), is_letter))
    return false;
  if (a.size() == 2 && std::islower(static_cast<unsigned char>(a[0])) != 0 &&
      std::islower(static_cast<unsigned char>(a[1])) != 0)
    return false;
  std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
  return a == b;
}

/// Whether letters are a product, whose order does not matter, and not a word or a name (dog, IV,
/// ABC): lower-case letters without a vowel, or letters from a to f in alphabetical order.
bool is_product_of_letters(std::string_view a, std::string_view b) {
  const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
  const bool is_first = a.find_first_not_of("abcdef") == std::string_view::npos &&
                        (std::is_sorted(a.begin(), a.end()) || std::is_sorted(b.begin(), b.end()));
  return std::all_of(a.begin(), a.end(), is_small) &&
         (is_first || a.find_first_of("aeiou") == std::string_view::npos);
}

/// A text in one reading: its tree, or the reason why it has none.
struct Read {
  std::optional<Node> root{};
  std::string problem{};
};

/// The position after the last "=" outside braces and brackets, where the value of a labelled
/// answer begins; nothing if there is no such sign.
std::optional<std::size_t> behind_label(std::string_view text) {
  std::optional<std::size_t> at;
  int depth = 0;
  for (std::size_t n = 0; n < text.size(); ++n) {
    const char c = text[n];
    depth += c == '{' || c == '(' || c == '[' ? 1 : c == '}' || c == ')' || c == ']' ? -1 : 0;
    if (c == '=' && depth == 0 && n > 0 &&
        std::string_view("<>!=:").find(text[n - 1]) == std::string_view::npos)
      at = n + 1;
  }
  return at;
}

/// Reads a text. A left side that is not an expression is taken as the name of the value: \angle
/// ABC = 30.
Read read(std::string_view text, const Reading& reading, std::array<bool, 4>& may_differ) {
  const auto parsed = [&](std::string_view part) {
    Parsed one = parse_answer(part, reading);
    may_differ[0] |= one.has_thousands, may_differ[1] |= one.has_plain_logarithm,
        may_differ[2] |= one.has_letter_unit, may_differ[3] |= one.has_period;
    return std::move(one.root);
  };
  try {
    return {parsed(text), {}};
  } catch (const NoVerdict& e) {
    const auto label = behind_label(text);
    if (label && e.cause != NoVerdict::Cause::exhausted) {
      try {
        Node name{Kind::words, bare(text.substr(0, *label)), {}, {}};
        return {Node{Kind::relation, "=", {}, {std::move(name), parsed(text.substr(*label))}}, {}};
      } catch (const NoVerdict&) {  // the first problem is reported
      }
    }
    return {{}, e.what()};
  }
}

Verdict compared(const Read& reference, const Read& answer, std::int64_t& work) {
  if (!reference.root) return left_open(Open::unread, reference.problem);
  if (!answer.root) return {Answer::different, "it cannot be read: " + answer.problem};
  Comparison comparison;
  Verdict verdict;
  try {
    verdict = comparison.verdict(*reference.root, *answer.root);
  } catch (const NoVerdict& e) {
    verdict = {Answer::undecided, e.what()};
  }
  work += comparison.work();
  return verdict;
}

/// Properties of one text by itself, independent of the other side of the comparison.
struct OwnValue {
  /// False for words, sets or infinities where numbers should be, and for a division by zero.
  bool is_value = true;
  /// Equal, or the reason why nothing can be compared with it.
  Verdict verdict{Answer::equal, "it can be compared"};
};

OwnValue own_value(const Node& root, std::int64_t& work) {
  constexpr std::int64_t kPart = 16;  // one sixteenth of a comparison's limits may be used
  Comparison comparison(kPart);
  OwnValue result;
  try {
    result.verdict = comparison.has_value(root);
    result.is_value = result.verdict.answer != Answer::different;
    // A text that cannot be compared with itself cannot be compared with any other.
    if (result.verdict.answer == Answer::equal) result.verdict = comparison.verdict(root, root);
  } catch (const NoVerdict& e) {
    result.is_value = e.cause == NoVerdict::Cause::exhausted;
    result.verdict = left_open(result.is_value ? Open::costly : Open::valueless, e.what());
  }
  if (result.verdict.answer != Answer::equal && result.verdict.open == Open::no)
    result.verdict = left_open(Open::valueless, result.verdict.reason);
  work += comparison.work();
  return result;
}

/// Finds the cause of an undecided verdict. If it is the reference, the verdict stays undecided; if
/// it is the answer, the verdict becomes "different".
Verdict settled(const Verdict& verdict, const Node& reference, const Node& answer,
                std::int64_t& work) {
  const OwnValue given = own_value(answer, work);
  const bool is_nothing =
      !given.is_value || (verdict.open != Open::no && given.verdict.open == Open::valueless);
  if (is_nothing)
    return {Answer::different, "the answer has no value that can be computed: " + verdict.reason};
  if (verdict.open != Open::no) return verdict;
  const OwnValue wanted = own_value(reference, work);
  return wanted.verdict.answer == Answer::equal
             ? Verdict{Answer::different, "it is not shown to be equal: " + verdict.reason}
             : wanted.verdict;
}

/// Decides by value, without choice labels. If the reference is a single letter, `reference_letter`
/// becomes that letter.
Decision decide_values(std::string_view reference, std::string_view answer,
                       char& reference_letter) {
  Decision decision;
  const std::string bare_reference = bare(reference), bare_answer = bare(answer);
  if (bare_answer.empty() && !bare_reference.empty())
    return {{Answer::different, "an empty answer"}, 0};
  if (bare_reference == bare_answer) return {{Answer::equal, "the same text"}, 0};
  if (reference.size() > kLongestAnswer)
    return {left_open(Open::unread, "it is longer than is read"), 0};
  if (answer.size() > kLongestAnswer)
    return {{Answer::different, "an answer longer than is read"}, 0};
  if (are_shuffled_letters(bare_reference, bare_answer)) {
    const bool is_equal = is_product_of_letters(bare_reference, bare_answer);
    return {{is_equal ? Answer::equal : Answer::different,
             is_equal ? "the same product" : "the same letters in another order"},
            0};
  }
  std::optional<Verdict> first;
  Read first_reference, first_answer;
  std::array<bool, 4> may_differ{};
  for (const Reading& reading :
       {Reading{}, Reading{.decimal_logarithm = true}, Reading{.thousands = false},
        Reading{.letter_units = true}, Reading{.periods = false}}) {
    const bool is_needed = may_differ[reading.decimal_logarithm ? 1
                                      : reading.letter_units    ? 2
                                      : reading.periods         ? 0
                                                                : 3];
    if (first && !is_needed) continue;
    Read a = read(reference, reading, may_differ), b = read(answer, reading, may_differ);
    Verdict verdict = compared(a, b, decision.work);
    const bool is_first = !first, is_equal = verdict.answer == Answer::equal;
    if (is_first || is_equal) first = std::move(verdict);
    if (is_first) first_reference = std::move(a), first_answer = std::move(b);
    if (is_equal) break;
  }
  decision.verdict = std::move(*first);
  if (first_reference.root && first_reference.root->kind == Kind::symbol &&
      first_reference.root->text.size() == 1)
    reference_letter = first_reference.root->text[0];
  if (decision.verdict.answer == Answer::undecided && first_reference.root && first_answer.root)
    decision.verdict =
        settled(decision.verdict, *first_reference.root, *first_answer.root, decision.work);
  return decision;
}

/// Decides if one side names a choice and gives its content: by the letters if both sides name one,
/// otherwise by the content. Nothing if no side names a choice.
std::optional<Decision> by_choice(std::string_view reference, std::string_view answer,
                                  char reference_letter) {
  const auto wanted = choice_of(reference), given = choice_of(answer);
  const auto by_letter = [](bool is_same) {
    return Decision{{is_same ? Answer::equal : Answer::different,
                     is_same ? "the same choice" : "another choice"}};
  };
  char letter = 0;
  if (given && reference_letter != 0) return by_letter(reference_letter == given->letter);
  if (wanted && given) return by_letter(wanted->letter == given->letter);
  if (wanted && bare(answer) == std::string(1, wanted->letter)) return by_letter(true);
  if (wanted && !wanted->said.empty()) return decide_values(wanted->said, answer, letter);
  if (given && !given->said.empty()) return decide_values(reference, given->said, letter);
  return std::nullopt;
}

}  // namespace

Decision decide(std::string_view reference, std::string_view answer) {
  char reference_letter = 0;
  Decision decision = decide_values(reference, answer, reference_letter);
  if (decision.verdict.answer == Answer::equal) return decision;
  auto chosen = by_choice(reference, answer, reference_letter);
  if (!chosen) return decision;
  chosen->work += decision.work;
  return *chosen;
}

std::string reference_problem(std::string_view reference) {
  if (reference.size() > kLongestAnswer) return "the reference is longer than is read";
  std::array<bool, 4> may_differ{};
  const Read read_reference = read(reference, {}, may_differ);
  return read_reference.root ? std::string()
                             : fmt::format("the reference \"{}\" cannot be read: {}",
                                           text::cut(reference, 200), read_reference.problem);
}

}  // namespace rollcall::reward::math
