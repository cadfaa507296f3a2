// The rule of key_door: a door opens for who has the key, which is on the map until it is taken.
#include "environment/worlds/grid_world.hpp"
#include "environment/worlds/worlds.hpp"

#include <utility>

namespace rollcall::environment {
namespace {

Moved move(task::Position from, std::size_t direction, std::uint64_t) {
  const task::Place to = task::next_to(from.place, direction);
  if (!from.grid.has(to)) return {std::move(from)};
  const char cell = from.grid.at(to);
  const bool is_shut = cell == 'D' && from.grid.find('k');
  if (cell == '#' || is_shut) return {std::move(from)};
  from.place = to;
  if (cell == 'k') from.grid.at(to) = '.';
  return {std::move(from), cell == 'G', cell == 'G'};
}

/// To the key, and with it to the goal.
std::optional<std::size_t> guide(const task::Position& from) {
  const auto key = from.grid.find('k'), goal = key ? key : from.grid.find('G');
  if (!goal) return std::nullopt;
  return task::shortest_way(from.grid, from.place,
                            task::steps_to(from.grid, *goal, key ? "." : ".D"));
}

}  // namespace

std::unique_ptr<const Environment> make_key_door(const RunConfig& config) {
  need_task(config, "key_door");
  return std::make_unique<GridWorld>(".#kDG", move, guide);
}

}  // namespace rollcall::environment
