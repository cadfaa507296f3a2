// The seeds of conversations: a function of the run's seed and of what a rollout is.
#pragma once

#include "core/rollout.hpp"
#include "environment/talk.hpp"

#include <cstdint>

namespace rollcall::run {

/// `group`: its id, origin and stream_prompt count. Its rollouts meet the same world at the start,
/// and so do groups that ask its prompt once more (tiers of help, counterparts, pools).
environment::Seeds conversation_seeds(std::uint64_t run_seed, Split split, const Group& group,
                                      std::uint32_t sample);

}  // namespace rollcall::run
