// Judges whether an expression reaches the target with the given numbers.
#include "base/errors/error.hpp"
#include "reward/expression.hpp"
#include "reward/graders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace rollcall::reward {
namespace {

struct Riddle {
  std::vector<std::int64_t> numbers;
  std::int64_t target = 0;
};

/// Reads "3 5 7 25=40", as task/countdown.cpp writes it. Throws InputError.
Riddle parse_riddle(std::string_view reference) {
  Riddle riddle;
  const auto need = [whole = reference](bool ok) {
    require<InputError>(ok,
                        fmt::format("the reference \"{}\" cannot be used", whole.substr(0, 200)),
                        "responses could not be judged",
                        "it should be like 3 5 7 25=40: numbers, = and the target");
  };
  for (char separator = ' '; separator != '\0';) {
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(reference.data(), reference.data() + reference.size(), value);
    need(error == std::errc{});
    reference.remove_prefix(std::size_t(end - reference.data()));
    if (separator == '=') riddle.target = value;
    else riddle.numbers.push_back(value);
    need(reference.empty() == (separator == '='));
    separator = reference.empty() ? '\0' : reference.front();
    need(separator == '\0' || separator == ' ' || separator == '=');
    if (!reference.empty()) reference.remove_prefix(1);
  }
  return riddle;
}

bool uses_only(std::vector<std::int64_t> used, std::vector<std::int64_t> given) {
  std::sort(used.begin(), used.end());
  std::sort(given.begin(), given.end());
  // std::includes() also counts how often each number occurs
  return std::includes(given.begin(), given.end(), used.begin(), used.end());
}

}  // namespace

Score judge_countdown_expression(const Prompt& prompt, const Response& response) {
  const Riddle riddle = parse_riddle(prompt.answer);
  const auto expression = response.answer && response.answer->complete
                              ? parse_expression(response.answer->text)
                              : std::nullopt;
  const bool allowed = expression && uses_only(expression->numbers, riddle.numbers);
  const bool correct = allowed && expression->value == Rational{riddle.target, 1};
  return {{double(correct), double(expression.has_value())},
          0.0,
          correct,
          allowed ? expression->value.text() : std::string()};
}

}  // namespace rollcall::reward
