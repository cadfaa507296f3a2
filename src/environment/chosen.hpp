// Makes the environment that a run's settings choose for its policy.
#pragma once

#include "core/run_config.hpp"
#include "environment/environment.hpp"
#include "text/chat/prompt_format.hpp"

#include <memory>
#include <string>

namespace rollcall::environment {

/// The name, in environment.name, of the environment that is made of tools. It is no row of
/// environments.cpp, since it depends on the model's chat template.
inline constexpr const char* kToolsName = "tools";

/// The built-in environment of a run, or the environment of its tools. Null in a run without an
/// environment, and if environment.command is set. Reads environment.index. Throws ConfigError for
/// an unknown name or settings that do not fit it, InputError for a template that shows no tools or
/// calls.
std::unique_ptr<const Environment> make_environment(const RunConfig& config,
                                                    const text::PromptFormat& format);
/// Whether its answers take so long that separate threads compute them.
bool answers_slowly(const RunConfig& config);
/// Whether the environment needs the sandbox, because of environment.sandbox or a tool that runs
/// programs.
bool needs_sandbox(const RunConfig& config);
/// JSON list of the functions that the prompts of a run with tools show; empty if the run has no
/// tools. Throws ConfigError for an unknown tool.
std::string tool_schemas(const RunConfig& config);
/// The traits shared by all conversations of a run that has an environment, including
/// environment.role. Throws as make_environment() does.
Traits traits_of_run(const RunConfig& config, const text::PromptFormat& format);

}  // namespace rollcall::environment
