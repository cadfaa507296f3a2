// Lakes with holes in the ice, which may be slippery, and a goal that can be reached.
#include "task/generate.hpp"
#include "task/sources.hpp"
#include "task/worlds/grid.hpp"

#include <fmt/format.h>

#include <vector>

namespace rollcall::task {
namespace {

constexpr std::int64_t kHoles = 5;  // one cell in five; Gymnasium's maps of 8 x 8 have 10 of 64
constexpr const char* kRules =
    "You (@) walk over a frozen lake, a map whose rows are separated by slashes. A dot is firm ice, ~ is slippery ice, O is a hole and G is the goal. On slippery ice you move in the "
    "direction that you say or in one of the two beside it. A hole ends the walk. Say one word a turn and nothing else: up, right, down or left. You are shown the map after each "
    "step. Reach the goal.\n";

/// Level n: n rows and n columns, all of firm or all of slippery ice.
std::optional<Item> draw_frozen_lake(const TaskSection& section, std::int64_t level, Draws& draws) {
  const bool slippery = draws.chance(2);
  const char ice = slippery ? '~' : '.';
  Position start{
      {std::vector<std::string>(std::size_t(level), std::string(std::size_t(level), ice))}, {}};
  for (std::string& row : start.grid.rows)
    for (char& cell : row)
      if (draws.chance(kHoles)) cell = 'O';
  start.place = {draws.below(level), draws.below(level)};
  const Place goal{draws.below(level), draws.below(level)};
  if (goal == start.place) return std::nullopt;
  start.grid.at(start.place) = ice;
  start.grid.at(goal) = 'G';
  const auto way = shortest_way(start.grid, start.place, steps_to(start.grid, goal, ".~"));
  if (!way) return std::nullopt;
  Item item{view_of(start), text_of(start), std::string(kDirections[*way]),
            slippery ? "slippery" : "firm"};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question") item.text = kRules + item.text;
  return item;
}

}  // namespace

PromptSet make_frozen_lake(const TaskSection& section, std::uint64_t seed) {
  check_wordings("frozen_lake", section.wording, {"plain", "question"});
  return generate(
      {"frozen_lake", 2, 10,
       [&](std::int64_t level, Draws& draws) { return draw_frozen_lake(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
