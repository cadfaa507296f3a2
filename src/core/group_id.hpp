// The name of a group: the rollouts of one prompt that a step drew together.
#pragma once

#include "base/numbers/id.hpp"

#include <compare>
#include <cstdint>

namespace rollcall {

/// What identifies a group. `draw` counts how often this step had already drawn the prompt.
struct GroupId {
  std::uint64_t step = 0;
  PromptId prompt;
  std::uint32_t draw = 0;
  auto operator<=>(const GroupId&) const = default;
};

}  // namespace rollcall
