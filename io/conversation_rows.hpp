// Converts the origins of groups, and what their environments reported about turns, to columns and
// back. Private to io.
#pragma once

#include "core/rollout.hpp"
#include "io/schema.hpp"

#include <cstddef>

namespace rollcall::io {

void append_origin(const Group& group, ConversationColumns& columns);
/// Called once the rollout's turns have been appended. Stores its facts without turn_flag::moved.
void append_facts(const Rollout& rollout, ConversationColumns& columns);

/// Throws FileFault for values that are impossible in a group or rollout: parents beyond the range
/// of their numbers, facts for only some of a rollout's turns, components out of order. The sums of
/// counts have been checked (TableReader::check_counts).
void check_conversations(const RolloutColumns& rollouts);

/// Fills in groups and rollouts, in order, from the columns. The columns have passed
/// check_conversations().
class ConversationWalk {
 public:
  explicit ConversationWalk(const ConversationColumns& columns) : c_(&columns) {}
  void next(Group& group);
  void next(Rollout& rollout);

 private:
  TurnFacts next_facts();

  const ConversationColumns* c_;
  std::size_t group_ = 0, rollout_ = 0, fact_ = 0, component_ = 0, start_byte_ = 0,
              reason_byte_ = 0;
};

}  // namespace rollcall::io
