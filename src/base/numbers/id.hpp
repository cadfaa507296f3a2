// Typed ids, so that the number of a prompt cannot be used where a policy version is meant.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace rollcall {

template <class Tag>
struct Id {
  std::uint64_t value = 0;
  auto operator<=>(const Id&) const = default;
  template <class Archive>
  void serialize(Archive& ar, unsigned) {
    ar& value;
  }
};

/// Position of a prompt in its task's split, stable for a task section and seed; or the id of a
/// derived prompt (core/derived_prompt.hpp).
using PromptId = Id<struct PromptTag>;
/// Number of optimizer steps that led to a set of weights, warm start included.
using PolicyVersion = Id<struct PolicyVersionTag>;

}  // namespace rollcall

template <class Tag>
struct std::hash<rollcall::Id<Tag>> {
  std::size_t operator()(const rollcall::Id<Tag>& id) const noexcept {
    return std::hash<std::uint64_t>{}(id.value);
  }
};
