// How long rollouts may become: one answer after a prompt, or a conversation.
#pragma once

#include "core/run_config.hpp"

#include <cstdint>

namespace rollcall::sizing {

/// Tokens for which a prompt must leave room: sampling.max_new_tokens. In a conversation these are
/// environment.max_tokens or, where that is 0, those of the first turn.
std::int64_t least_answer_tokens(const RunConfig& config);
/// The key that limits them, for messages.
const char* answer_limit_key(const RunConfig& config);

/// Most tokens of a rollout after a prompt of `prompt` tokens, sampled and told together. In a
/// conversation without environment.max_tokens these are all that `positions`, the model's longest
/// sequence, leave; otherwise they are least_answer_tokens(). All three throw ConfigError for an
/// unknown task.
std::int64_t answer_tokens(const RunConfig& config, std::int64_t positions, std::int64_t prompt);

}  // namespace rollcall::sizing
