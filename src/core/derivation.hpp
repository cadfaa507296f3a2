// How a group came about if the task's prompts alone do not explain it: what it was made from, how
// much help it had, and where its rollouts train.
#pragma once

#include "core/group_id.hpp"

#include <cstdint>
#include <limits>

namespace rollcall {

/// What a derived group asks for. The archive stores the number.
enum class DerivedKind : std::int32_t {
  none = 0,          ///< an ordinary group of the task
  verdict = 1,       ///< the policy judges one or two of its own answers
  reflection = 2,    ///< it sees one of its wrong answers and answers again, one step later
  hint = 3,          ///< the task's prompt with help (Derivation::tier)
  refinement = 4,    ///< it sees an answer of this step, and feedback, and answers again
  error = 5,         ///< it sees an answer and names what is wrong with it
  intervention = 6,  ///< it continues an answer whose wrong step was replaced
  continuation = 7,  ///< it continues a history that an earlier step left
  summary = 8,       ///< it shortens a history
  counterpart = 9,   ///< the same prompt, sampled by another policy
  pool = 10          ///< the same prompt, sampled only to choose which samples are drawn again
};

/// Where the rollouts of a derived group train.
enum class Placement : std::int32_t {
  own_group = 0,        ///< as a separate group
  joins_parent = 1,     ///< in the parent's group, alongside its rollouts
  replaces_parent = 2,  ///< in the parent's group, whose own rollouts leave it
  replaces_one = 3,     ///< in the parent's group, in place of an equal number of failures
  trains_nowhere = 4    ///< they only helped to make other groups
};

struct Derivation {
  /// For parent_sample: the reason was the whole group, not a single rollout.
  static constexpr std::uint32_t kWholeGroup = std::numeric_limits<std::uint32_t>::max();

  DerivedKind kind = DerivedKind::none;
  GroupId parent{};  ///< the group that it was made from, in this step or an earlier one
  std::uint32_t parent_sample = kWholeGroup;
  std::int32_t tier = 0;  ///< how much help the prompt gives; 0: none
  Placement placement = Placement::own_group;
  auto operator<=>(const Derivation&) const = default;
};

/// Whether nothing but the scheduler's draw explains the group. Groups of judge tasks are stored
/// like that as well (is_plain of core/derived_prompt.hpp tells them apart).
inline bool is_plain(const Derivation& from) { return from.kind == DerivedKind::none; }
/// Whether the policy is asked about its answers in the previous step ([self_judging]).
inline bool is_judge_task(DerivedKind kind) {
  return kind == DerivedKind::verdict || kind == DerivedKind::reflection;
}
/// Whether the scheduler draws groups of this kind, so that their rollouts count against its
/// budget.
inline bool is_drawn(DerivedKind kind) {
  return kind == DerivedKind::none || kind == DerivedKind::hint;
}

}  // namespace rollcall
