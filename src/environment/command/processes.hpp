// An environment that is a command of the run file: processes that answer lines of JSON.
#pragma once

#include "core/run_config.hpp"
#include "environment/partner.hpp"
#include "reward/command/spawner.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace rollcall::environment {

/// Callbacks from the partner's thread.
struct CommandListener {
  std::function<void(std::size_t process, std::string_view bytes)> errors{};  ///< standard error
  std::function<void()> answered{};                                           ///< for each answer
};

/// Up to environment.processes processes, which are started when they are needed, at most one for
/// each core at a time. They end with the partner. Conversations stay in their process if it does
/// not reveal its state. If the process fails, they continue in a different one, which gets the
/// reset and the same actions and must give the same answers. Throws EnvironmentError if the
/// command cannot be started.
std::unique_ptr<Partner> make_processes(reward::Spawner& spawner, const RunConfig& config,
                                        CommandListener listener = {});

/// The same if environment.sandbox is set: each answer is a separate run in the sandbox. Its input
/// is all lines of the conversation so far, or only the last one if the environment reveals its
/// state.
std::unique_ptr<Partner> make_confined(const RunConfig& config);

/// Plays one conversation with actions of no meaning, and throws ConfigError, with what the command
/// wrote to standard error, where it does not answer as it must. `helped`: the prompt with help in
/// its text, or null. Where the command begins it with the words that it has for the prompt without
/// help, the policy would never see the help, which throws as well. Returns the text with which the
/// command begins the conversation about `prompt`; empty: the prompt's own text begins it.
std::string try_command(reward::Spawner& spawner, const RunConfig& config, const Prompt& prompt,
                        const Prompt* helped = nullptr);

}  // namespace rollcall::environment
