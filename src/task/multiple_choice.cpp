// Questions with one right option among several.
#include "base/text/joined.hpp"
#include "base/text/json.hpp"
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

namespace rollcall::task {
namespace {

struct Question {
  std::string plain, words, domain;
  std::int64_t right = 0;
  std::int64_t low = 0, high = 0;  ///< range for the other options
};

/// The largest number at a level: 9 at level 2, 99 from 5 on, 999 from 8 on.
std::int64_t highest(std::int64_t level) {
  return level < 5 ? 9 + 10 * (level - 2) : level < 8 ? 99 : 999;
}

Question draw_largest(std::int64_t level, Draws& draws) {
  const auto right = draws.between(level - 1, highest(level));
  return {"max", "Which of these numbers is the largest?", "largest", right, 0, right - 1};
}

Question draw_smallest(std::int64_t level, Draws& draws) {
  const auto most = highest(level), right = draws.between(0, most - level + 1);
  return {"min", "Which of these numbers is the smallest?", "smallest", right, right + 1, most};
}

Question draw_sum(std::int64_t level, Draws& draws) {
  const auto a = draws.between(1, highest(level)), b = draws.between(1, highest(level)),
             right = a + b;
  return {fmt::format("{}+{}", a, b),
          fmt::format("What is {} + {}?", a, b),
          "sum",
          right,
          std::max<std::int64_t>(0, right - 10),
          right + 10};
}

Question draw_next(std::int64_t level, Draws& draws) {
  const auto first = draws.below(10), step = draws.between(1, 2 + level), right = first + 3 * step;
  const auto shown = fmt::format("{0} {1} {2}", first, first + step, first + 2 * step);
  return {"next " + shown,
          fmt::format("Which number continues {}?", shown),
          "next",
          right,
          std::max<std::int64_t>(0, right - 10),
          right + 10};
}

constexpr std::array kQuestions = {draw_largest, draw_smallest, draw_sum, draw_next};

std::optional<Item> draw_multiple_choice(const TaskSection& section, std::int64_t level,
                                         Draws& draws) {
  const Question question = draws.one_of(kQuestions)(level, draws);
  std::set<std::int64_t> others;
  while (std::int64_t(others.size()) < level - 1) {
    const auto other = draws.between(question.low, question.high);
    if (other != question.right) others.insert(other);
  }
  std::vector<std::int64_t> numbers(others.begin(), others.end());
  numbers.push_back(question.right);
  draws.shuffle(numbers);
  const std::string letter(
      1, char('A' + (std::find(numbers.begin(), numbers.end(), question.right) - numbers.begin())));
  std::vector<std::string> plain, lines, options;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    options.push_back(fmt::format("{}", numbers[i]));
    plain.push_back(fmt::format("{}{}", char('A' + i), numbers[i]));
    lines.push_back(fmt::format("{}) {}", char('A' + i), numbers[i]));
  }
  Item item{fmt::format("{} {}:", question.plain, joined(plain, " ")),
            nlohmann::json{{"answer", letter}, {"options", options}}.dump(), letter};
  item.domain = question.domain;
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question")
    item.text =
        fmt::format("{}\n{}\nAnswer with the letter only.", question.words, joined(lines, "\n"));
  return item;
}

}  // namespace

PromptSet make_multiple_choice(const TaskSection& section, std::uint64_t seed) {
  check_wordings("multiple_choice", section.wording, {"plain", "question"});
  return generate({"multiple_choice", 2, 10,
                   [&](std::int64_t level, Draws& draws) {
                     return draw_multiple_choice(section, level, draws);
                   }},
                  section, seed);
}

}  // namespace rollcall::task
