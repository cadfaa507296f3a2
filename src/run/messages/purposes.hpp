// The properties that follow from the purpose of a plan: the split of its prompts, its name, the
// names of its rollouts, and whether they train.
#pragma once

#include "core/rollout.hpp"

#include <cstdint>
#include <string>

namespace rollcall::run {

/// Throws ProtocolError for a purpose that does not exist, as purpose_name() does.
Split split_of(Purpose purpose);
const char* purpose_name(Purpose purpose);
/// "train/12/347/0/3": purpose, step, prompt, draw, sample.
std::string sample_id(Purpose purpose, const GroupId& group, std::uint32_t sample);
/// Whether the update reads rollouts of this purpose. Greedy answers are among them, as baselines.
inline bool is_trained_on(Purpose purpose) {
  return purpose == Purpose::train || purpose == Purpose::greedy;
}

}  // namespace rollcall::run
