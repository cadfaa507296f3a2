// Arithmetic on integers of up to eight digits.
#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::task {
namespace {

constexpr std::int64_t kMostDigits = 8;  // products of two such numbers fit 64 bits

/// A number drawn uniformly from those of exactly `digits` digits; 0 counts as one digit.
std::int64_t number_of(std::int64_t digits, Draws& draws) {
  std::int64_t low = 1;
  for (std::int64_t d = 1; d < digits; ++d) low *= 10;
  return draws.between(digits == 1 ? 0 : low, 10 * low - 1);
}

struct Operands {
  std::int64_t a = 0, b = 0;
};

Operands draw_by_level(char op, std::int64_t level, Draws& draws) {
  Operands drawn{number_of(level, draws)};
  drawn.b = number_of(draws.between(1, level), draws);
  // the longer number may be on either side, but a dividend stays on the left
  if (op != '/' && draws.below(2) == 1) std::swap(drawn.a, drawn.b);
  return drawn;
}

Operands draw_by_law(const std::vector<std::int64_t>& digits, Draws& draws) {
  const auto one = [&] {
    return number_of(digits[std::size_t(draws.below(std::int64_t(digits.size())))], draws);
  };
  Operands drawn{one()};
  drawn.b = one();
  return drawn;
}

std::string in_words(char op, const Operands& of, const std::string& wording) {
  if (wording == "plain") return fmt::format("{}{}{}=", of.a, op, of.b);
  // states the form of an answer that not everybody knows
  const char* form =
      op == '/' ? " Give the quotient and the remainder in one word, as in 17 / 5 = 3r2." : "";
  if (wording == "question") return fmt::format("What is {} {} {}?{}", of.a, op, of.b, form);
  return fmt::format("What is {} {} {}?{}", of.a,
                     op == '+'   ? "plus"
                     : op == '-' ? "minus"
                     : op == '*' ? "times"
                                 : "divided by",
                     of.b, form);
}

std::optional<Item> draw_arithmetic(const TaskSection& section, std::int64_t level, Draws& draws) {
  const char op =
      section.operators[std::size_t(draws.below(std::int64_t(section.operators.size())))].front();
  const Operands of =
      section.digits.empty() ? draw_by_level(op, level, draws) : draw_by_law(section.digits, draws);
  const auto [a, b] = of;
  if (op == '/' && b == 0) return std::nullopt;
  const std::string answer = op == '+'   ? fmt::format("{}", a + b)
                             : op == '-' ? fmt::format("{}", a - b)
                             : op == '*' ? fmt::format("{}", a * b)
                                         : fmt::format("{}r{}", a / b, a % b);
  Item item{in_words(op, of, draw_wording(section.wording, draws)), answer, answer,
            std::string(1, op)};
  item.level = std::int32_t(std::to_string(std::max(a, b)).size());
  item.problem = in_words(op, of, "plain");
  return item;
}

void check_operators(const std::vector<std::string>& operators) {
  const std::vector<std::string> known{"+", "-", "*", "/"};
  require<ConfigError>(!operators.empty(), "task.operators is empty",
                       "there would be nothing to compute", "name some of +, -, * and /");
  for (const auto& op : operators) {
    require<ConfigError>(std::find(known.begin(), known.end(), op) != known.end(),
                         fmt::format("task.operators holds \"{}\"", op),
                         "it is not an operator of this task", suggest_name(op, known));
  }
}

}  // namespace

PromptSet make_arithmetic(const TaskSection& section, std::uint64_t seed) {
  check_operators(section.operators);
  check_wordings("arithmetic", section.wording, {"plain", "question", "words"});
  const auto draw = [&](std::int64_t level, Draws& draws) {
    return draw_arithmetic(section, level, draws);
  };
  if (section.digits.empty()) return generate({"arithmetic", 1, kMostDigits, draw}, section, seed);
  TaskSection one_level = section;  // the operands decide the level
  one_level.min_level = one_level.max_level = 1;
  return generate({"arithmetic", 1, 1, draw}, one_level, seed);
}

}  // namespace rollcall::task
