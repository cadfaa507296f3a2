// Chooses between tools, the table of environments and the command.
#include "environment/chosen.hpp"

#include "base/files/file.hpp"
#include "environment/command/lines_of_talk.hpp"
#include "environment/environments.hpp"
#include "environment/tool.hpp"
#include "task/task.hpp"
#include "text/chat/turn_texts.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace rollcall::environment {
namespace {

std::vector<const ToolRow*> tools_of(const RunConfig& config) {
  std::vector<const ToolRow*> tools;
  if (task::built_in_environment(config) == kToolsName)
    for (const std::string& name : config.environment.tools) tools.push_back(&find_tool(name));
  return tools;
}

/// Whether one of the tools has a property.
bool has_tool(const RunConfig& config, bool ToolRow::*property) {
  const auto tools = tools_of(config);
  return std::any_of(tools.begin(), tools.end(),
                     [property](const ToolRow* tool) { return tool->*property; });
}

}  // namespace

std::unique_ptr<const Environment> make_environment(const RunConfig& config,
                                                    const text::PromptFormat& format) {
  const std::string name = task::built_in_environment(config);
  if (name.empty()) return nullptr;
  if (name != kToolsName) return find_environment(name).make(config);
  text::require_tools(format, tool_schemas(config));
  const std::string& index = config.environment.index;
  return make_tools(tools_of(config), text::call_form(format.conversations()),
                    index.empty() ? std::string() : read_file(index));
}

bool answers_slowly(const RunConfig& config) {
  const std::string name = task::built_in_environment(config);
  if (name.empty()) return false;
  return name == kToolsName ? has_tool(config, &ToolRow::slow) : find_environment(name).slow;
}

bool needs_sandbox(const RunConfig& config) {
  const EnvironmentSection& section = config.environment;
  return section.command.empty() ? has_tool(config, &ToolRow::runs_programs) : section.sandbox;
}

std::string tool_schemas(const RunConfig& config) {
  std::string list;
  for (const ToolRow* tool : tools_of(config))
    list.append(list.empty() ? "[" : ",").append(tool->schema);
  return list.empty() ? list : list.append("]");
}

Traits traits_of_run(const RunConfig& config, const text::PromptFormat& format) {
  const auto environment = make_environment(config, format);
  Traits traits = environment ? environment->traits() : traits_of(config.environment);
  if (config.environment.role != "auto") traits.role = config.environment.role;
  return traits;
}

}  // namespace rollcall::environment
