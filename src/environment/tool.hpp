// Tools: functions that the policy calls in the form of its model's chat template.
#pragma once

#include "environment/environment.hpp"
#include "text/chat/tool_calls.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::environment {

/// The result of a call.
struct ToolResult {
  std::string text{};
  bool failed = false;  ///< the text says why; the turn is flagged `error`
  bool lost = false;    ///< nothing is known about the call, and the text says why
};

/// A row of tools.cpp. `call` never throws. It is pure if the code that it runs is pure.
struct ToolRow {
  const char* name;
  const char* schema;  ///< JSON schema of the function as chat templates show it
  bool slow;           ///< as in EnvironmentRow
  bool runs_programs;  ///< in the sandbox of this process
  ToolResult (*call)(std::string_view arguments, std::string_view index);
};

const ToolRow& find_tool(const std::string& name);  ///< throws ConfigError naming the nearest

/// An environment of tools. A turn with calls is answered by their results in the order of the
/// calls, separated by line feeds, and pays nothing. A turn without calls ends the conversation,
/// and the run's verifier judges it. A call that cannot be parsed is answered by the parser's
/// message and flagged `invalid`. A turn that contains only thoughts is flagged `void_turn` and
/// also ends the conversation. If the sandbox fails to carry out a call, the conversation is lost.
/// The state is the number of turns so far. Kinds of actions: call. `index`: the content of the
/// file environment.index.
std::unique_ptr<const Environment> make_tools(const std::vector<const ToolRow*>& tools,
                                              text::CallForm form, std::string index);

}  // namespace rollcall::environment
