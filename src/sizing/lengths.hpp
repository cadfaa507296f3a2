// The largest lengths of rollouts, which are one answer after a prompt or a conversation.
#pragma once

#include "core/run_config.hpp"

#include <cstdint>

namespace rollcall::sizing {

/// The number of tokens for which a prompt must leave room: sampling.max_new_tokens. In a
/// conversation it is environment.max_tokens or, if that is 0, the number of tokens of the first
/// turn.
std::int64_t least_answer_tokens(const RunConfig& config);
/// The key that limits an answer's tokens, for messages.
const char* answer_limit_key(const RunConfig& config);

/// The largest number of tokens that a rollout can have after a prompt of `prompt` tokens,
/// including tokens from the environment. In a conversation without environment.max_tokens this is
/// all that remains of `positions`, the model's longest sequence; otherwise it is
/// least_answer_tokens(). All three throw ConfigError for an unknown task.
std::int64_t answer_tokens(const RunConfig& config, std::int64_t positions, std::int64_t prompt);

}  // namespace rollcall::sizing
