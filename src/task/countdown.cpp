// The numbers round of the game Countdown: reach a target from a handful of numbers.
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace rollcall::task {
namespace {

// The game: numbers are 1..10 ("small") or one of four "large" ones, targets below 1000.
constexpr std::array<std::int64_t, 4> kLarge = {25, 50, 75, 100};
constexpr std::int64_t kHighest = 999;

/// An expression with its value. `rank` says how tightly its outermost operator binds: 1 + -, 2 *
/// /, 3 a number.
struct Term {
  std::int64_t value;
  std::string text;
  int rank;
};

std::string inside(const Term& term, bool needs_parentheses) {
  return needs_parentheses ? "(" + term.text + ")" : term.text;
}

Term join(const Term& a, char op, const Term& b) {
  const int rank = op == '+' || op == '-' ? 1 : 2;
  const std::int64_t value = op == '+'   ? a.value + b.value
                             : op == '-' ? a.value - b.value
                             : op == '*' ? a.value * b.value
                                         : a.value / b.value;
  const bool wrap_right = b.rank < rank || (b.rank == rank && (op == '-' || op == '/'));
  return {value, fmt::format("{}{}{}", inside(a, a.rank < rank), op, inside(b, wrap_right)), rank};
}

/// Operators that keep the result an integer in 1..999 and do not just return `a`. Never empty: if
/// the sum is too large, the numbers differ (-) or are equal and above 1 (/).
std::string useful_operators(std::int64_t a, std::int64_t b) {
  std::string ops;
  if (a + b <= kHighest) ops += '+';
  if (a > b) ops += '-';
  if (a > 1 && b > 1 && a * b <= kHighest) ops += '*';
  if (b > 1 && a % b == 0) ops += '/';
  return ops;
}

std::optional<Item> draw_countdown(const TaskSection& section, std::int64_t level, Draws& draws) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < level; ++i)
    numbers.push_back(draws.below(4) == 0 ? kLarge[std::size_t(draws.below(4))]
                                          : draws.between(1, 10));
  std::vector<Term> terms;
  for (const std::int64_t n : numbers) terms.push_back({n, fmt::format("{}", n), 3});
  const auto take = [&] {
    const auto at = terms.begin() + draws.below(std::int64_t(terms.size()));
    Term term = std::move(*at);
    terms.erase(at);
    return term;
  };
  while (terms.size() > 1) {
    Term a = take(), b = take();
    if (a.value < b.value) std::swap(a, b);
    const std::string ops = useful_operators(a.value, b.value);
    terms.push_back(join(a, ops[std::size_t(draws.below(std::int64_t(ops.size())))], b));
  }
  const std::int64_t target = terms.front().value;
  // One of the given numbers is already the target, so there is nothing to compute.
  if (std::find(numbers.begin(), numbers.end(), target) != numbers.end()) return std::nullopt;
  const std::string riddle = fmt::format("{}={}", fmt::join(numbers, " "), target);
  Item item{riddle + ":", riddle, terms.front().text};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question")
    item.text = countdown_question(numbers, target);
  return item;
}

}  // namespace

std::string countdown_question(const std::vector<std::int64_t>& numbers, std::int64_t target) {
  return fmt::format(
      "Make {} from the numbers {}. Use +, -, *, / and parentheses, and each number at most once. Answer with the expression only, for example (1+2)*3.",
      target, fmt::join(numbers, ", "));
}

PromptSet make_countdown(const TaskSection& section, std::uint64_t seed) {
  check_wordings("countdown", section.wording, {"plain", "question"});
  return generate(
      {"countdown", 3, 6,
       [&](std::int64_t level, Draws& draws) { return draw_countdown(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
