// Checks of the sections for conversations, help, second passes and openings.
#pragma once

#include "core/run_config.hpp"

namespace rollcall {

/// Adds a fault for each contradiction within or between [environment], [hints], [second_pass],
/// [openings] and sampling.turn_tokens. Part of check().
void check_conversations(const RunConfig& config, Faults& faults);

/// Adds one fault that lists all invalid names under `key`, a list of reward components: empty
/// ones, and those that are `taken` or listed twice. "correct" is always taken.
void check_components(const char* key, const std::vector<std::string>& names,
                      const std::vector<std::string>& taken, Faults& faults);

}  // namespace rollcall
