// The columns of rollouts that were forked from others, and which columns of models are no columns
// of tokens.
#pragma once

#include "core/rollout.hpp"
#include "method/columns.hpp"

#include <string>

namespace rollcall::run {

/// Appends column::parent and column::fork_token of the group's rollouts, before anything else of
/// the group is appended. A rollout whose parent has left the step has none.
void append_forks(const Group& group, method::StepColumns& columns);

/// Whether a column that models compute has numbers of turns or of rollouts. Such a column is made
/// for all groups of a step at once.
bool is_of_whole_steps(const std::string& column);

}  // namespace rollcall::run
