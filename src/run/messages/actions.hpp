// The actions of a rollout. An action is what the policy said between two answers of its
// environment. A rollout without an environment is one action.
#pragma once

#include "core/rollout.hpp"
#include "text/chat/prompt_format.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::run {

/// Separates actions in Rollout::text. U+001E is the record separator; it is removed from what the
/// policy said where a rollout has several actions.
inline constexpr char kNextAction = '\x1e';

/// Turns [first, last) of a rollout, which are one action. A beginning that was given belongs to
/// the first one, and neighbouring turns of the policy are one.
struct ActionTurns {
  std::size_t first = 0, last = 0;
};
/// At least one, in order. An environment's turn after a turn of the policy ends an action, also if
/// it has no tokens. An exit, which is a fork without facts, is one action.
std::vector<ActionTurns> actions_of(const Rollout& rollout);

/// The text of a rollout: each action without the end token that closes it, with kNextAction
/// between two. For one action it is the text that earlier builds stored.
std::string rollout_text(const text::PromptFormat& format, const Rollout& rollout);
/// The last action in Rollout::text, which verifiers judge.
std::string_view last_action(const Rollout& rollout);

/// Whether a conversation ended because what the environment said last left the policy no room.
/// That text is no part of the rollout, whose last turn is the environment's and empty.
bool lacked_room(const Rollout& rollout);

}  // namespace rollcall::run
