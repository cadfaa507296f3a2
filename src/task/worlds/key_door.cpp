// Maps of two rooms: the key is in one, and the goal is behind the door to the other.
#include "task/generate.hpp"
#include "task/sources.hpp"
#include "task/worlds/grid.hpp"

#include <fmt/format.h>

#include <vector>

namespace rollcall::task {
namespace {

constexpr const char* kRules =
    "You (@) walk over a map whose rows are separated by slashes. A dot is free, # is a wall, k is a key, D is a door and G is the goal. You take the key by walking onto it, and "
    "only then the door lets you through. Say one word a turn and nothing else: up, right, down or left. You are shown the map after each step. Reach the goal.\n";

/// Level n: two rooms of n + 1 rows and n columns.
std::optional<Item> draw_key_door(const TaskSection& section, std::int64_t level, Draws& draws) {
  const std::int64_t height = level + 1, width = level;
  Position start{
      {std::vector<std::string>(std::size_t(height), std::string(std::size_t(2 * width + 1), '.'))},
      {}};
  Grid& grid = start.grid;
  for (std::int64_t row = 0; row < height; ++row) grid.at({row, width}) = '#';
  grid.at({draws.below(height), width}) = 'D';
  start.place = {draws.below(height), draws.below(width)};
  const Place key{draws.below(height), draws.below(width)};
  if (key == start.place) return std::nullopt;
  grid.at(key) = 'k';
  grid.at({draws.below(height), width + 1 + draws.below(width)}) = 'G';
  const auto way = shortest_way(grid, start.place, steps_to(grid, key, "."));
  if (!way) return std::nullopt;
  Item item{view_of(start), text_of(start), std::string(kDirections[*way])};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question") item.text = kRules + item.text;
  return item;
}

}  // namespace

PromptSet make_key_door(const TaskSection& section, std::uint64_t seed) {
  check_wordings("key_door", section.wording, {"plain", "question"});
  return generate(
      {"key_door", 1, 10,
       [&](std::int64_t level, Draws& draws) { return draw_key_door(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
