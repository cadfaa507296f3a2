// Sorting digits. The level is the length, because each digit can be wrong.
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::task {
namespace {

std::optional<Item> draw_sorting(const TaskSection& section, std::int64_t level, Draws& draws) {
  std::string digits;
  for (std::int64_t i = 0; i < level; ++i) digits += char('0' + draws.below(10));
  std::string sorted = digits;
  std::sort(sorted.begin(), sorted.end());
  Item item{digits + ">", sorted, sorted};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question")
    item.text = fmt::format(
        "Sort the digits of {} from smallest to largest. Answer with the sorted digits only, without spaces.",
        digits);
  return item;
}

}  // namespace

PromptSet make_sorting(const TaskSection& section, std::uint64_t seed) {
  check_wordings("sorting", section.wording, {"plain", "question"});
  return generate(
      {"sorting", 1, 64,
       [&](std::int64_t level, Draws& draws) { return draw_sorting(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
