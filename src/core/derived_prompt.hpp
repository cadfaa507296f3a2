// Prompts that a run makes from its own rollouts, and their numbers. The numbers are larger than
// those of any task's prompts, and each is used once in a run.
#pragma once

#include "core/derivation.hpp"
#include "core/rollout.hpp"

#include <cstdint>
#include <vector>

namespace rollcall {

/// A prompt with its own text. Plans and shards carry it along. Groups whose text is a function of
/// prompt and tier (DerivedKind::hint) need none: they are further draws of the task's prompt.
struct DerivedPrompt {
  Prompt prompt;  ///< its id is a derived number, its split is train
  Derivation from{};
  /// Tokens with which every answer begins, after the prompt; empty: none.
  std::vector<std::int32_t> given{};
  bool learns_given = false;  ///< the given tokens also train (column `given`)
};

// The address of a random stream has 40 bits for a prompt. Derived numbers have bit 39 set. Bit 38
// is 0 for a verdict. Otherwise three of the bits of the index name the kind, which keeps the
// numbers of reflections that earlier builds have stored.
inline constexpr std::uint64_t kFirstDerived = std::uint64_t{1} << 39;
inline constexpr std::uint64_t kFirstOther = kFirstDerived + (std::uint64_t{1} << 38);
inline constexpr std::uint64_t kDerivedSteps = std::uint64_t{1} << 22;
inline constexpr std::uint64_t kVerdictsOfAStep = std::uint64_t{1} << 16;
/// The most derived prompts of one kind in one step, except for verdicts.
inline constexpr std::uint64_t kDerivedOfAStep = std::uint64_t{1} << 13;

/// Kinds other than verdicts that have numbers, in the order of their three bits.
inline constexpr DerivedKind kNumberedKinds[8] = {
    DerivedKind::reflection,   DerivedKind::refinement,   DerivedKind::error,
    DerivedKind::intervention, DerivedKind::continuation, DerivedKind::summary,
    DerivedKind::counterpart,  DerivedKind::pool};

inline bool is_derived(PromptId prompt) { return prompt.value >= kFirstDerived; }

/// DerivedKind::none for a prompt of a task.
inline DerivedKind kind_of(PromptId prompt) {
  if (!is_derived(prompt)) return DerivedKind::none;
  if (prompt.value < kFirstOther) return DerivedKind::verdict;
  return kNumberedKinds[prompt.value % kVerdictsOfAStep / kDerivedOfAStep];
}

/// What a group asks for. Judge tasks are stored without a Derivation and are told apart by their
/// number: earlier builds gave reflections numbers that now mean other kinds, but groups of those
/// kinds always have a Derivation.
inline DerivedKind kind_of(const GroupId& id, const Derivation& from) {
  if (!is_plain(from) || !is_derived(id.prompt)) return from.kind;
  return id.prompt.value < kFirstOther ? DerivedKind::verdict : DerivedKind::reflection;
}
/// Whether a group asks a prompt of the task as the scheduler drew it.
inline bool is_plain(const GroupId& id, const Derivation& from) {
  return kind_of(id, from) == DerivedKind::none;
}

/// The number of derived prompt `index` of a kind in a step. `index` < kDerivedOfAStep, or
/// kVerdictsOfAStep for a verdict; `step` < kDerivedSteps. `kind` is verdict or one of
/// kNumberedKinds.
inline PromptId derived_number(DerivedKind kind, std::uint64_t step, std::uint64_t index) {
  const std::uint64_t in_step = step * kVerdictsOfAStep + index;
  if (kind == DerivedKind::verdict) return {kFirstDerived + in_step};
  std::uint64_t bits = 0;
  while (kNumberedKinds[bits] != kind) ++bits;
  return {kFirstOther + in_step + bits * kDerivedOfAStep};
}

/// First sample number of the group of a derived prompt that trains in its parent's group, where
/// each rollout must have its own number. Up to 2^14 rollouts follow it.
inline std::uint32_t first_derived_sample(PromptId prompt) {
  return std::uint32_t{1} << 31 | std::uint32_t(prompt.value % kVerdictsOfAStep) << 14;
}
/// The same for a further draw of a task's prompt, identified by its draw, below 2^15.
inline std::uint32_t first_derived_sample(std::uint32_t draw) {
  return std::uint32_t{3} << 30 | draw << 14;
}

}  // namespace rollcall
