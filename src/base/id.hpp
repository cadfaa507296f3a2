// Strong ids: a prompt's number cannot be used where a policy version is meant.
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

using PromptId = Id<struct PromptTag>;  ///< position in its task's split, stable for a task section
                                        ///< and seed; or of a judge task (core/judge_task)
using PolicyVersion = Id<struct PolicyVersionTag>;  ///< number of optimizer steps behind a set of
                                                    ///< weights (warm start included)

}  // namespace rollcall

template <class Tag>
struct std::hash<rollcall::Id<Tag>> {
  std::size_t operator()(const rollcall::Id<Tag>& id) const noexcept {
    return std::hash<std::uint64_t>{}(id.value);
  }
};
