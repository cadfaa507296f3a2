// How an expert plays a prompt: the conversations that a warm start learns, and the states in which
// others begin.
#pragma once

#include "core/run_config.hpp"
#include "environment/environment.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::environment {

/// The expert's conversation about a prompt, action by action.
struct ExpertWay {
  std::vector<std::string> states{};   ///< [actions] in which each was taken
  std::vector<std::string> actions{};  ///< texts
  std::vector<std::string> said{};     ///< [actions] what the policy is told after each
  bool ends = false;                   ///< the environment ended it with the last action
};

/// The first `most` actions at most; fewer where the conversation ends, and none where the
/// environment has no expert or cannot use the prompt. A function of its arguments.
ExpertWay expert_way(const Environment& environment, const Prompt& prompt, const Seeds& seeds,
                     std::int64_t most);

/// Whether the environment of a run has an expert: those that play the prompts of a task of their
/// own have one. Throws ConfigError for an unknown name.
bool has_expert(const RunConfig& config);

}  // namespace rollcall::environment
