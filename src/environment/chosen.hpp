// What the policy of a run talks with, as its settings choose it.
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

/// The built-in environment of a run, or that of its tools; null in a run without one and where
/// environment.command is set. Reads environment.index. Throws ConfigError for an unknown name or
/// settings that do not fit it, InputError for a template that shows no tools or calls.
std::unique_ptr<const Environment> make_environment(const RunConfig& config,
                                                    const text::PromptFormat& format);
/// Whether its answers take so long that threads of their own carry them out.
bool answers_slowly(const RunConfig& config);
/// Whether it needs the sandbox: environment.sandbox, or a tool that runs programs.
bool needs_sandbox(const RunConfig& config);
/// JSON list of the functions that the prompts of a run with tools show; empty: it has none. Throws
/// ConfigError for an unknown tool.
std::string tool_schemas(const RunConfig& config);
/// What is the same for all conversations of a run that has an environment, with
/// environment.role in it. Throws as make_environment() does.
Traits traits_of_run(const RunConfig& config, const text::PromptFormat& format);

}  // namespace rollcall::environment
