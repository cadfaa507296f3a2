// Small Python functions. The level is the number of operations, because each can be left out or
// misplaced.
#include "base/text/json.hpp"
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>

#include <array>

namespace rollcall::task {
namespace {

constexpr std::array<std::int64_t, 5> kArguments = {0, 1, 5, -7, 12};

struct Operation {
  char sign;
  std::int64_t operand;  ///< 1 to 9, so that eight of them stay far within 64 bits

  std::int64_t of(std::int64_t x) const {
    return sign == '+' ? x + operand : sign == '-' ? x - operand : x * operand;
  }
  std::string words() const {
    if (sign == '*') return fmt::format("multiplies by {}", operand);
    return fmt::format("{} {}", sign == '+' ? "adds" : "subtracts", operand);
  }
};

std::string tests_of(const std::vector<Operation>& operations) {
  std::string asserts;
  for (const std::int64_t argument : kArguments) {
    std::int64_t value = argument;
    for (const Operation& operation : operations) value = operation.of(value);
    asserts += fmt::format("assert f({})=={}\n", argument, value);
  }
  return nlohmann::json{{"type", "assert"}, {"code", asserts}}.dump();
}

std::optional<Item> draw_code(const TaskSection& section, std::int64_t level, Draws& draws) {
  std::vector<Operation> operations;
  std::string text, words, body = "x";
  for (std::int64_t i = 0; i < level; ++i) {
    const Operation operation{"+-*"[draws.below(3)], draws.between(1, 9)};
    operations.push_back(operation);
    text += fmt::format("{}{}", operation.sign, operation.operand);
    words += (i == 0 ? "" : ", then ") + operation.words();
    body = fmt::format("{}{}{}{}{}", i == 0 ? "" : "(", body, i == 0 ? "" : ")", operation.sign,
                       operation.operand);
  }
  Item item{text + ">", tests_of(operations), fmt::format("def f(x):return {}", body)};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question") {
    item.text = fmt::format(
        "Write a Python function f(x) that starts from x, {}, and returns the result. Answer with the code in a fenced block.",
        words);
    item.solution = fmt::format("```python\ndef f(x):\n    return {}\n```", body);
  }
  return item;
}

}  // namespace

PromptSet make_code(const TaskSection& section, std::uint64_t seed) {
  check_wordings("code", section.wording, {"plain", "question"});
  return generate(
      {"code", 1, 8,
       [&](std::int64_t level, Draws& draws) { return draw_code(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
