// Worlds in which a step of the policy is a step on a map.
#pragma once

#include "environment/worlds/world.hpp"
#include "task/worlds/grid.hpp"

namespace rollcall::environment {

/// The result of a step on a map.
struct Moved {
  task::Position to;
  bool ends = false;     ///< the conversation
  bool reached = false;  ///< the goal
};

class GridWorld final : public World {
 public:
  using Move = Moved (*)(task::Position from, std::size_t direction, std::uint64_t seed);
  /// The direction in which an expert moves; nothing if there is no path to the goal.
  using Guide = std::optional<std::size_t> (*)(const task::Position& from);
  /// `cells`: the letters of its maps; `move`: its rule.
  GridWorld(const char* cells, Move move, Guide guide)
      : cells_(cells), move_(move), guide_(guide) {}

 private:
  std::optional<std::string> first_state(const Prompt& prompt, std::uint64_t seed) const override;
  std::optional<std::string> seen(const std::string& state) const override;
  Answer act(const std::string& state, const std::string& word, std::uint64_t seed) const override;
  std::optional<std::string> expert_word(const std::string& state,
                                         std::uint32_t turn) const override;

  const char* cells_;
  Move move_;
  Guide guide_;
};

}  // namespace rollcall::environment
