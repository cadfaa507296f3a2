// The rule of rooms: each door opens for who has the key with its letter.
#include "environment/worlds/grid_world.hpp"
#include "environment/worlds/worlds.hpp"

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

}  // namespace

std::unique_ptr<const Environment> make_rooms(const RunConfig& config) {
  need_task(config, "rooms");
  return std::make_unique<GridWorld>(".#abcdefABCDEFG", move);
}

}  // namespace rollcall::environment
