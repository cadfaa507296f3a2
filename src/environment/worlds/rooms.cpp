// The rule of rooms: each door opens for who has the key with its letter.
#include "environment/worlds/grid_world.hpp"
#include "environment/worlds/worlds.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace rollcall::environment {
namespace {

Moved move(task::Position from, std::size_t direction, std::uint64_t) {
  const task::Place to = task::next_to(from.place, direction);
  if (!from.grid.has(to)) return {std::move(from)};
  const char cell = from.grid.at(to);
  const bool is_door = cell >= 'A' && cell <= 'F', is_key = cell >= 'a' && cell <= 'f';
  const bool is_shut = is_door && from.grid.find(char(cell - 'A' + 'a'));
  if (cell == '#' || is_shut) return {std::move(from)};
  from.place = to;
  if (is_key) from.grid.at(to) = '.';
  return {std::move(from), cell == 'G', cell == 'G'};
}

/// Guides to the key of the first door that is shut, and finally to the goal, through the doors for
/// which the key is taken.
std::optional<std::size_t> guide(const task::Position& from) {
  constexpr std::string_view kKeys = "abcdef";
  std::string passable = ".";
  std::optional<task::Place> next;
  for (const char key : kKeys) {
    const auto place = from.grid.find(key);
    passable += place ? key : char(key - 'a' + 'A');
    if (place && !next) next = place;
  }
  if (!next) next = from.grid.find('G');
  if (!next) return std::nullopt;
  return task::shortest_way(from.grid, from.place, task::steps_to(from.grid, *next, passable));
}

}  // namespace

std::unique_ptr<const Environment> make_rooms(const RunConfig& config) {
  need_task(config, "rooms");
  return std::make_unique<GridWorld>(".#abcdefABCDEFG", move, guide);
}

}  // namespace rollcall::environment
