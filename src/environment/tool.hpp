// Tools: functions that the policy calls in the form of its model's chat template.
#pragma once

#include "environment/environment.hpp"
#include "text/chat/tool_calls.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::environment {

/// What a call returned.
struct ToolResult {
  std::string text{};
  bool failed = false;  ///< the text says why; the turn is flagged `error`
  bool lost = false;    ///< nothing is known about the call, and the text says why
};

/// A row of tools.cpp. `call` never throws, and is pure as far as what it runs is.
struct ToolRow {
  const char* name;
  const char* schema;  ///< JSON schema of the function as chat templates show it
  bool slow;           ///< as in EnvironmentRow
  bool runs_programs;  ///< in the sandbox of this process
  ToolResult (*call)(std::string_view arguments, std::string_view index);
};

const ToolRow& find_tool(const std::string& name);  ///< throws ConfigError naming the nearest

/// An environment of tools. A turn with calls is answered by their results in the order of the
/// calls, with a line feed between two, and pays nothing. A turn without calls ends the
/// conversation, and the run's verifier judges it. A call that cannot be parsed is answered by the
/// parser's message and flagged `invalid`; a turn that says nothing beside its thoughts is flagged
/// `void_turn` and ends it, too. A call that the sandbox failed to
/// carry out loses the conversation. The state is the number of turns so far. Kinds of actions: call.
/// `index`: what the file of environment.index has.
std::unique_ptr<const Environment> make_tools(const std::vector<const ToolRow*>& tools,
                                              text::CallForm form, std::string index);

}  // namespace rollcall::environment
