// What follows from the purpose of a plan: the split of its prompts, its name, and whether its
// rollouts train.
#pragma once

#include "core/rollout.hpp"

namespace rollcall::run {

/// Throws ProtocolError for a purpose that does not exist, as purpose_name() does.
Split split_of(Purpose purpose);
const char* purpose_name(Purpose purpose);
/// Whether the update reads rollouts of this purpose. Greedy answers are among them, as baselines.
inline bool is_trained_on(Purpose purpose) {
  return purpose == Purpose::train || purpose == Purpose::greedy;
}

}  // namespace rollcall::run
