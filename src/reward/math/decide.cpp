// Reads both texts in each way they can be read, and compares.
#include "reward/math/decide.hpp"

#include "reward/math/comparison.hpp"
#include "text/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace rollcall::reward::math {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '$'; }
bool is_word_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Without dollars, a closing period, and white space but between letters and digits, where it tells words and numbers apart.
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

/// Whether both are the same letters in another order, three or more or capital: products, or the names of things.
bool are_shuffled_letters(std::string a, std::string b) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  if (a == b || a.size() != b.size() || a.size() < 2 || !std::all_of(a.begin(), a.end(), is_letter)) return false;
  if (a.size() == 2 && std::islower(static_cast<unsigned char>(a[0])) != 0 && std::islower(static_cast<unsigned char>(a[1])) != 0) return false;
  std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
  return a == b;
}

/// The letter of an answer that names a choice and says it: "C. 5", "(C) 5", "\textbf{(C)}\ 5"; 0 for all others, and where there are several.
char choice_of(std::string_view text) {
  bool is_text = false;
  for (const std::string_view wrapper : {"\\textbf{", "\\text{", "\\textrm{", "\\mathrm{", "\\mathbf{"})
    if (text.starts_with(wrapper)) text.remove_prefix(wrapper.size()), is_text = true;
  const bool is_bracketed = text.starts_with('(');
  if (is_bracketed) text.remove_prefix(1);
  if (text.size() < 3 || text[0] < 'A' || text[0] > 'J' || std::string_view(is_bracketed ? ")" : ").:").find(text[1]) == std::string_view::npos) return 0;
  const char letter = text[0];
  text.remove_prefix(2);
  const std::size_t said = std::min(text.find_first_not_of(" ~}"), text.size());
  const std::string_view rest = text.substr(said);
  if ((said == 0 && !is_text) || rest.empty() ||
      (std::isdigit(static_cast<unsigned char>(rest[0])) == 0 && std::string_view("\\-$.").find(rest[0]) == std::string_view::npos))
    return 0;
  const bool is_one = rest.find("and") == std::string_view::npos && rest.find("or") == std::string_view::npos && rest.find(',') == std::string_view::npos;
  return is_one ? letter : 0;
}

/// One text in one reading: its tree, or why there is none.
struct Read {
  std::optional<Node> root{};
  std::string problem{};
};

/// Behind the last "=" outside of braces and brackets; none without one.
std::optional<std::size_t> behind_label(std::string_view text) {
  std::optional<std::size_t> at;
  int depth = 0;
  for (std::size_t n = 0; n < text.size(); ++n) {
    const char c = text[n];
    depth += c == '{' || c == '(' || c == '[' ? 1 : c == '}' || c == ')' || c == ']' ? -1 : 0;
    if (c == '=' && depth == 0 && n > 0 && std::string_view("<>!=:").find(text[n - 1]) == std::string_view::npos) at = n + 1;
  }
  return at;
}

/// A left side that is no expression is the name of the value: \angle ABC = 30.
Read read(std::string_view text, const Reading& reading, std::array<bool, 4>& may_differ) {
  const auto parsed = [&](std::string_view part) {
    Parsed one = parse_answer(part, reading);
    may_differ[0] |= one.has_thousands, may_differ[1] |= one.has_plain_logarithm, may_differ[2] |= one.has_letter_unit, may_differ[3] |= one.has_period;
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
      } catch (const NoVerdict&) {  // the first problem is told
      }
    }
    return {{}, e.what()};
  }
}

Verdict compared(const Read& reference, const Read& answer, std::int64_t& work) {
  if (!reference.root) return {Answer::undecided, "the reference: " + reference.problem};
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

/// Why a text has no value of its own, whatever it is compared with; empty where it has one.
std::string own_problem(const Node& root, std::int64_t& work) {
  constexpr std::int64_t kPart = 4;  // of what a comparison may cost
  Comparison comparison(kPart);
  std::string problem;
  try {
    if (const Verdict verdict = comparison.has_value(root); verdict.answer != Answer::equal) problem = verdict.reason;
  } catch (const NoVerdict& e) {
    problem = e.what();
  }
  work += comparison.work();
  return problem;
}

}  // namespace

Decision decide(std::string_view reference, std::string_view answer) {
  Decision decision;
  const std::string bare_reference = bare(reference), bare_answer = bare(answer);
  if (bare_answer.empty() && !bare_reference.empty()) return {{Answer::different, "an empty answer"}, 0};
  if (bare_reference == bare_answer) return {{Answer::equal, "the same text"}, 0};
  if (reference.size() > kLongestAnswer) return {{Answer::undecided, "a reference longer than is read"}, 0};
  if (answer.size() > kLongestAnswer) return {{Answer::different, "an answer longer than is read"}, 0};
  if (are_shuffled_letters(bare_reference, bare_answer)) return {{Answer::undecided, "the same letters in another order"}, 0};
  std::optional<Verdict> first;
  Read first_reference, first_answer;
  std::array<bool, 4> may_differ{};
  for (const Reading& reading :
       {Reading{}, Reading{.decimal_logarithm = true}, Reading{.thousands = false}, Reading{.letter_units = true}, Reading{.periods = false}}) {
    const bool is_needed = may_differ[reading.decimal_logarithm ? 1 : reading.letter_units ? 2 : reading.periods ? 0 : 3];
    if (first && !is_needed) continue;
    Read a = read(reference, reading, may_differ), b = read(answer, reading, may_differ);
    Verdict verdict = compared(a, b, decision.work);
    const bool is_first = !first, is_equal = verdict.answer == Answer::equal;
    if (is_first || is_equal) first = std::move(verdict);
    if (is_first) first_reference = std::move(a), first_answer = std::move(b);
    if (is_equal) break;
  }
  decision.verdict = std::move(*first);
  const bool is_letter = first_reference.root && first_reference.root->kind == Kind::symbol && first_reference.root->text.size() == 1;
  if (const char choice = is_letter && decision.verdict.answer != Answer::equal ? choice_of(answer) : char(0); choice != 0) {
    const bool is_same = first_reference.root->text[0] == choice;
    return {{is_same ? Answer::equal : Answer::different, is_same ? "the same choice" : "another choice"}, decision.work};
  }
  if (decision.verdict.answer != Answer::undecided || !first_reference.root || !first_answer.root) return decision;
  const std::string problem = own_problem(*first_answer.root, decision.work);
  if (!problem.empty() && own_problem(*first_reference.root, decision.work).empty())
    decision.verdict = {Answer::different, "it has no value that is shown: " + problem};
  return decision;
}

std::string reference_problem(std::string_view reference) {
  if (reference.size() > kLongestAnswer) return "the reference is longer than is read";
  std::array<bool, 4> may_differ{};
  const Read read_reference = read(reference, {}, may_differ);
  return read_reference.root ? std::string() : fmt::format("the reference \"{}\" cannot be read: {}", text::cut(reference, 200), read_reference.problem);
}

}  // namespace rollcall::reward::math
