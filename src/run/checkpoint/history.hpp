// An answer of an earlier step that the policy may be asked to go on from.
#pragma once

#include "core/group_id.hpp"

#include <cstdint>
#include <string>

namespace rollcall::run {

/// It has its texts itself, so that it does not depend on the place of the prompt in the task.
struct History {
  GroupId parent{};  ///< the group of the answer
  std::uint32_t sample = 0;
  std::int32_t level = 0;
  std::string question{}, reference{};  ///< the task's prompt, and its reference answer
  std::string answer{};
  double variance = 0.0;  ///< of the rewards of the newest group that was made of it, or of its own
  bool operator==(const History&) const = default;
};

}  // namespace rollcall::run
