// Positions as states, and directions as actions.
#include "environment/worlds/grid_world.hpp"

#include <algorithm>

namespace rollcall::environment {

std::optional<std::string> GridWorld::first_state(const Prompt& prompt, std::uint64_t) const {
  if (!task::read_position(prompt.answer, cells_)) return std::nullopt;
  return prompt.answer;
}

std::optional<std::string> GridWorld::seen(const std::string& state) const {
  const auto position = task::read_position(state, cells_);
  if (!position) return std::nullopt;
  return task::view_of(*position);
}

Answer GridWorld::act(const std::string& state, const std::string& word, std::uint64_t seed) const {
  const auto& words = task::kDirections;
  const auto said = std::find(words.begin(), words.end(), word);
  if (said == words.end()) return {.state = state, .flags = turn_flag::invalid};
  const Moved moved =
      move_(*task::read_position(state, cells_), std::size_t(said - words.begin()), seed);
  Answer answer{.state = task::text_of(moved.to), .reward = moved.reached ? 1.0 : 0.0};
  answer.done = moved.ends;
  if (moved.ends) answer.correct = moved.reached;
  return answer;
}

std::optional<std::string> GridWorld::expert_word(const std::string& state, std::uint32_t) const {
  const auto way = guide_(*task::read_position(state, cells_));
  if (!way) return std::nullopt;
  return std::string(task::kDirections.at(*way));
}

}  // namespace rollcall::environment
