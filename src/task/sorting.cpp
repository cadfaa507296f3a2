// Sorting digits: graded by length, because each digit can fail.
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <algorithm>

namespace rollcall::task {
namespace {

std::optional<Item> draw_sorting(std::int64_t level, Draws& draws) {
  std::string digits;
  for (std::int64_t i = 0; i < level; ++i) digits += char('0' + draws.below(10));
  std::string sorted = digits;
  std::sort(sorted.begin(), sorted.end());
  return Item{digits + ">", sorted, sorted};
}

}  // namespace

PromptSet make_sorting(const TaskSection& section, std::uint64_t seed) { return generate({"sorting", 1, 64, draw_sorting}, section, seed); }

}  // namespace rollcall::task
