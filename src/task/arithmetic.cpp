// Arithmetic on integers of up to eight digits.
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>

namespace rollcall::task {
namespace {

constexpr std::int64_t kMostDigits = 8;  // products of two such numbers fit 64 bits

/// Uniform among the numbers of exactly `digits` digits; 0 counts as one.
std::int64_t number_of(std::int64_t digits, Draws& draws) {
  std::int64_t low = 1;
  for (std::int64_t d = 1; d < digits; ++d) low *= 10;
  return draws.between(digits == 1 ? 0 : low, 10 * low - 1);
}

std::optional<Item> draw_arithmetic(std::int64_t level, Draws& draws) {
  const char op = "+-*/"[draws.below(4)];
  std::int64_t a = number_of(level, draws);
  std::int64_t b = number_of(draws.between(1, level), draws);
  if (op == '/' && b == 0) return std::nullopt;
  if (op != '/' && draws.below(2) == 1) std::swap(a, b);  // the longer number stands on either side; a dividend stays left
  std::string answer = op == '+'   ? fmt::format("{}", a + b)
                       : op == '-' ? fmt::format("{}", a - b)
                       : op == '*' ? fmt::format("{}", a * b)
                                   : fmt::format("{}r{}", a / b, a % b);
  return Item{fmt::format("{}{}{}=", a, op, b), answer, answer, std::string(1, op)};
}

}  // namespace

PromptSet make_arithmetic(const TaskSection& section, std::uint64_t seed) { return generate({"arithmetic", 1, kMostDigits, draw_arithmetic}, section, seed); }

}  // namespace rollcall::task
