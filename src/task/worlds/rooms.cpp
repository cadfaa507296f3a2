// Maps of rooms in a row: the key to each door is in one of the rooms before it, and the goal is in
// the last room.
#include "task/generate.hpp"
#include "task/sources.hpp"
#include "task/worlds/grid.hpp"

#include <fmt/format.h>

#include <vector>

namespace rollcall::task {
namespace {

constexpr std::int64_t kSide = 3;  // length of a room's side, in cells
constexpr const char* kRules =
    "You (@) walk over a map whose rows are separated by slashes. A dot is free, # is a wall, G is the goal, small letters are keys and capital letters from A to F are doors. You "
    "take a key by walking onto it, and only then the door with its letter lets you through. Say one word a turn and nothing else: up, right, down or left. You are shown the map "
    "after each step. Reach the goal.\n";

/// Level n: n rooms.
std::optional<Item> draw_rooms(const TaskSection& section, std::int64_t level, Draws& draws) {
  const std::int64_t width = level * (kSide + 1) - 1;
  Position start{
      {std::vector<std::string>(std::size_t(kSide), std::string(std::size_t(width), '.'))}, {}};
  Grid& grid = start.grid;
  for (std::int64_t door = 0; door + 1 < level; ++door) {
    const std::int64_t column = door * (kSide + 1) + kSide;
    for (std::int64_t row = 0; row < kSide; ++row) grid.at({row, column}) = '#';
    grid.at({draws.below(kSide), column}) = char('A' + door);
  }
  const auto in_room = [&](std::int64_t room) {
    const std::int64_t row = draws.below(kSide);
    return Place{row, room * (kSide + 1) + draws.below(kSide)};
  };
  start.place = in_room(0);
  grid.at(in_room(level - 1)) = 'G';
  Place first{};
  for (std::int64_t key = 0; key + 1 < level; ++key) {
    const Place place = in_room(draws.below(key + 1));
    if (grid.at(place) != '.' || place == start.place) return std::nullopt;
    grid.at(place) = char('a' + key);
    if (key == 0) first = place;
  }
  const auto way = shortest_way(grid, start.place, steps_to(grid, first, ".abcdef"));
  if (!way) return std::nullopt;
  Item item{view_of(start), text_of(start), std::string(kDirections[*way])};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question") item.text = kRules + item.text;
  return item;
}

}  // namespace

PromptSet make_rooms(const TaskSection& section, std::uint64_t seed) {
  check_wordings("rooms", section.wording, {"plain", "question"});
  return generate(
      {"rooms", 2, 7,
       [&](std::int64_t level, Draws& draws) { return draw_rooms(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
