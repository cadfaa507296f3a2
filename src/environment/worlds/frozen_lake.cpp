// The rule of frozen_lake. What is left decides how one moves: only slippery ice turns a step aside.
#include "base/numbers/random.hpp"
#include "environment/worlds/grid_world.hpp"
#include "environment/worlds/worlds.hpp"

#include <utility>

namespace rollcall::environment {
namespace {

Moved move(task::Position from, std::size_t direction, std::uint64_t seed) {
  const std::size_t directions = task::kDirections.size();
  if (from.grid.at(from.place) == '~') {  // one of left of it, straight on, right of it
    const RandomStream stream(seed, RandomPurpose::environment);
    direction = (direction + directions - 1 + std::size_t(stream.below(0, 3))) % directions;
  }
  const task::Place to = task::next_to(from.place, direction);
  if (!from.grid.has(to)) return {std::move(from)};
  from.place = to;
  const char cell = from.grid.at(to);
  return {std::move(from), cell == 'G' || cell == 'O', cell == 'G'};
}

/// The shortest way to the goal over ice of both kinds, as if none of it were slippery.
std::optional<std::size_t> guide(const task::Position& from) {
  const auto goal = from.grid.find('G');
  if (!goal) return std::nullopt;
  return task::shortest_way(from.grid, from.place, task::steps_to(from.grid, *goal, ".~"));
}

}  // namespace

std::unique_ptr<const Environment> make_frozen_lake(const RunConfig& config) {
  need_task(config, "frozen_lake");
  return std::make_unique<GridWorld>(".~OG", move, guide);
}

}  // namespace rollcall::environment
