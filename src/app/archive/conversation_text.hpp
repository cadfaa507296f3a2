// Conversations and derived groups, as text for people and as JSON.
#pragma once

#include "base/text/json.hpp"
#include "core/rollout.hpp"

#include <optional>
#include <string>
#include <vector>

namespace rollcall::app::archive {

/// Why generation ended, as the archive names it: stop, length, turns or lost.
std::string name_of(FinishReason finish);

/// A line about what the group was made of, and the state in which its conversations began; empty
/// for a group of the task without one.
std::string origin_text(const Group& group);
/// The turns of a conversation with what was said and what the environment made of it; empty where
/// nothing is known of turns. `texts`: one for each turn, or nothing.
std::string turns_text(const Rollout& rollout,
                       const std::vector<std::optional<std::string>>& texts);

/// Adds to a line of `archive export` what the group was made of, where it is not the task's, and
/// how the rollout began, where that was not as its prompt ends.
void add_origin(nlohmann::ordered_json& line, const Group& group, const Rollout& rollout);
/// Adds to a turn of that line what the environment made of it.
void add_facts(nlohmann::ordered_json& turn, const TurnFacts& facts);

}  // namespace rollcall::app::archive
