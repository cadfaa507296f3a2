// Conversations and derived groups, as text for people and as JSON.
#pragma once

#include "base/text/json.hpp"
#include "core/rollout.hpp"

#include <optional>
#include <string>
#include <vector>

namespace rollcall::app::archive {

/// The reason why generation ended, in the archive's words: stop, length, turns or lost.
std::string name_of(FinishReason finish);

/// A line about the origin of the group, and the state in which its conversations began; empty for
/// a group of the task without such a state.
std::string origin_text(const Group& group);
/// The turns of a conversation with what was said and what the environment made of it; empty where
/// nothing is known of turns. `texts`: one for each turn, or nothing.
std::string turns_text(const Rollout& rollout,
                       const std::vector<std::optional<std::string>>& texts);

/// Adds to a line of `archive export` the origin of the group, if it is not the task's, and the
/// beginning of the rollout, if it did not begin at the end of its prompt.
void add_origin(nlohmann::ordered_json& line, const Group& group, const Rollout& rollout);
/// Adds to a turn of that line the environment's facts about it.
void add_facts(nlohmann::ordered_json& turn, const TurnFacts& facts);

}  // namespace rollcall::app::archive
