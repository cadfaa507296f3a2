// Plays a prompt as an expert would. This gives the conversations that a warm start learns, and the
// states in which other conversations begin.
#pragma once

#include "core/run_config.hpp"
#include "environment/environment.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::environment {

/// The expert's conversation about a prompt, action by action.
struct ExpertWay {
  std::vector<std::string> states{};   ///< [actions] the state in which each was taken
  std::vector<std::string> actions{};  ///< texts
  std::vector<std::string> said{};     ///< [actions] the environment's text after each
  bool ends = false;                   ///< the environment ended it with the last action
};

/// At most the first `most` actions. There are fewer if the conversation ends, and none if the
/// environment has no expert or cannot use the prompt. The result depends only on the arguments.
ExpertWay expert_way(const Environment& environment, const Prompt& prompt, const Seeds& seeds,
                     std::int64_t most);

/// Whether the environment of a run has an expert. Environments with their own task have one.
/// Throws ConfigError for an unknown name.
bool has_expert(const RunConfig& config);

}  // namespace rollcall::environment
