// The columns that schema *.8 added for conversations and derived groups. They hold the origin of a
// group, the beginnings of its rollouts, and what environments reported about turns. Integers are
// int64 here.
#pragma once

#include "io/column.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::io {

/// Names of DerivedKind, of Placement, and of the bits of TurnFacts::flags that are stored.
inline constexpr const char* kKindNames =
    "none verdict reflection hint refinement error intervention continuation summary counterpart "
    "pool";
inline constexpr const char* kPlacementNames =
    "own_group joins_parent replaces_parent replaces_one trains_nowhere";
inline constexpr const char* kTurnFlagNames =
    "invalid void error patched repeated decided correct ended given by_clock";

namespace conversation {

constexpr Column added(Column column, double absent = 0) { return since(8, column, absent); }

template <class Self, class F>
void each_of_groups(Self& c, F& f) {
  f(added({"groups",
           "kind",
           Dim::group,
           "1",
           "why the group was asked; none: the scheduler drew the prompt",
           {},
           kKindNames}),
    c.kind);
  f(added({"groups", "parent_step", Dim::group, "1",
           "step of the group that it was made of; 0 where kind is none"}),
    c.parent_step);
  f(added({"groups", "parent_prompt", Dim::group, "1",
           "prompt_id of that group; 0 where kind is none"}),
    c.parent_prompt);
  f(added({"groups", "parent_draw", Dim::group, "1", "draw of that group"}), c.parent_draw);
  f(added({"groups", "parent_sample", Dim::group, "1",
           "sample of the rollout that it was made of; -1: of no single one"},
          -1),
    c.parent_sample);
  f(added({"groups", "tier", Dim::group, "1", "how much help the prompt gives; 0: none"}), c.tier);
  f(added(
        {"groups", "placement", Dim::group, "1", "where its rollouts train", {}, kPlacementNames}),
    c.placement);
  f(added({"groups", "start_bytes", Dim::group, "bytes",
           "length in text/start; 0 where conversations began as the environment begins them",
           Dim::start_byte}),
    c.start_bytes);
  f(added({"text", "start", Dim::start_byte, "1", "states in which conversations began, UTF-8"}),
    c.start);
}

template <class Self, class F>
void each_of_rollouts(Self& c, F& f) {
  f(added({"rollouts", "opening", Dim::rollout, "1",
           "number of the opening that it was given; 0: it began as its prompt ends"}),
    c.opening);
  f(added({"rollouts", "parent", Dim::rollout, "1",
           "sample of its group that it was forked from; -1: it was sampled from its beginning"},
          -1),
    c.parent);
  f(added({"rollouts", "fork_token", Dim::rollout, "tokens",
           "policy tokens that it has in common with that sample; -1 where there is none"},
          -1),
    c.fork_token);
  f(added({"rollouts", "fact_count", Dim::rollout, "turns",
           "rows of turn_facts: all turns of the rollout, or 0 where they have no facts",
           Dim::fact}),
    c.fact_count);
}

template <class Self, class F>
void each_of_facts(Self& c, F& f) {
  f(added({"turn_facts", "reward", Dim::fact, "1", "reward that the environment gave for it"}),
    c.reward);
  f(added({"turn_facts", "state", Dim::fact, "1",
           "bits of the 64-bit hash of the state: before the turn of a policy, after that of an "
           "environment; 0: there is none"}),
    c.state);
  f(added({"turn_facts", "action", Dim::fact, "1",
           "bits of the 64-bit hash of the action's text; 0: it is no action"}),
    c.action);
  f(added({"turn_facts", "flags", Dim::fact, "1",
           "sum of 1 invalid, 2 void, 4 error, 8 patched, 16 repeated, 32 decided, 64 correct, "
           "128 ended, 256 given, 512 by_clock"}),
    c.flags);
  f(added({"turn_facts", "kind", Dim::fact, "1",
           "of the action, as the environment numbers kinds; 0: it has none"}),
    c.action_kind);
  f(added({"turn_facts", "seat", Dim::fact, "1", "who speaks, where several do"}), c.seat);
  f(added({"turn_facts", "component_count", Dim::fact, "1",
           "rows of fact_components: parts of the turn's reward", Dim::fact_component}),
    c.component_count);
  f(added({"turn_facts", "fact_reason_bytes", Dim::fact, "bytes",
           "length in text/fact_reason; 0 where no reason is given", Dim::fact_reason_byte}),
    c.reason_bytes);
  f(added({"fact_components", "name", Dim::fact_component, "1",
           "place of the part among the components of the attribute environment, from 0"}),
    c.component);
  f(added({"fact_components", "value", Dim::fact_component, "1", "value of that part"}), c.value);
  f(added({"text", "fact_reason", Dim::fact_reason_byte, "1",
           "why rewards of turns are what they are, UTF-8"}),
    c.reason);
}

}  // namespace conversation

/// Part of RolloutColumns. A run that uses none of it stores zeros, and no rows in the tables of
/// facts. The names of components are in the file's attribute `environment`.
struct ConversationColumns {
  // [group]
  std::vector<std::int64_t> kind, parent_step, parent_prompt, parent_draw, parent_sample, tier,
      placement, start_bytes;
  std::vector<std::int64_t> opening, parent, fork_token, fact_count;  // [rollout]
  std::vector<double> reward;                                         // [fact]
  std::vector<std::int64_t> state, action, flags, action_kind, seat, component_count, reason_bytes;
  std::vector<std::int64_t> component;  // [fact_component]
  std::vector<double> value;
  std::vector<std::uint8_t> start, reason;  // [start_byte], [fact_reason_byte]

  template <class Self, class F>
  static void each(Self& c, F&& f) {
    conversation::each_of_groups(c, f);
    conversation::each_of_rollouts(c, f);
    conversation::each_of_facts(c, f);
  }
};

}  // namespace rollcall::io
