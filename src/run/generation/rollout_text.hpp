// The text of a rollout as the archive stores it.
#pragma once

#include "core/rollout.hpp"
#include "text/chat/prompt_format.hpp"

#include <string>

namespace rollcall::run {

/// Of a rollout of one turn: everything after the prompt, without the end token that closes it. Of
/// a conversation: its policy turns, each so, with an empty line between two.
std::string rollout_text(const text::PromptFormat& format, const Rollout& rollout);
/// The policy's last turn as verifiers and environments read it, with what was given to it.
std::string last_action(const text::PromptFormat& format, const Rollout& rollout);
/// Whether an environment spoke, or was asked, after a turn of the policy.
bool is_conversation(const Rollout& rollout);

}  // namespace rollcall::run
