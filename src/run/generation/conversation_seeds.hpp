// The seeds of conversations. They are a function of the run's seed and of the identity of a
// rollout.
#pragma once

#include "core/rollout.hpp"
#include "environment/talk.hpp"

#include <cstdint>

namespace rollcall::run {

/// The address of the random numbers of a group's conversations.
struct ConversationAddress {
  Split split = Split::train;
  GroupId group;
  Derivation from{};
  std::uint64_t stream_prompt = 0;  ///< Group::stream_prompt
};

/// Those of the rollout `sample`. The rollouts of a group meet the same world at the start, and so
/// do groups that ask its prompt once more (tiers of help, counterparts, pools).
environment::Seeds conversation_seeds(std::uint64_t run_seed, const ConversationAddress& address,
                                      std::uint32_t sample);

}  // namespace rollcall::run
