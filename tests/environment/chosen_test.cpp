// Which environment a run has, by its name, its command or its task.
#include "environment/chosen.hpp"
#include "base/errors/error.hpp"
#include "task/task.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rollcall::environment {
namespace {

RunConfig of(const std::vector<std::string>& settings) { return load_run_config({}, settings); }

const text::PromptFormat& format() {
  static const text::PromptFormat plain(TextSection{}, std::filesystem::path());
  return plain;
}

TEST(Chosen, ANameComesBeforeACommandAndThatBeforeTheTask) {
  EXPECT_FALSE(task::has_environment(of({})));
  EXPECT_EQ(make_environment(of({}), format()), nullptr);
  EXPECT_EQ(task::built_in_environment(of({"task.name=rooms"})), "rooms");
  EXPECT_EQ(task::built_in_environment(of({"environment.name=retry"})), "retry");
  const RunConfig command = of({"task.name=rooms", "environment.command=[\"./env\"]"});
  EXPECT_EQ(task::built_in_environment(command), "");
  EXPECT_TRUE(task::has_environment(command));
  EXPECT_EQ(make_environment(command, format()), nullptr);
  EXPECT_NE(make_environment(of({"task.name=rooms"}), format()), nullptr);
}

TEST(Chosen, TraitsHaveTheRoleAndTheComponentsOfTheRun) {
  const RunConfig command =
      of({"environment.command=[\"./env\"]", "environment.components=[\"style\", \"calm\"]",
          "environment.kinds=[\"look\", \"open\"]"});
  EXPECT_EQ(traits_of_run(command, format()).components,
            (std::vector<std::string>{"style", "calm"}));
  EXPECT_EQ(traits_of_run(command, format()).kinds, (std::vector<std::string>{"look", "open"}));
  EXPECT_EQ(traits_of_run(of({"task.name=rooms"}), format()).role, "user");
  EXPECT_EQ(traits_of_run(of({"task.name=rooms", "environment.role=tool"}), format()).role, "tool");
}

TEST(Chosen, ToolsAreShownInTheirOrderAndNeedATemplateThatShowsThem) {
  RunConfig tools = of({"environment.name=tools", "environment.index=lines",
                        "environment.tools=[\"search\", \"calculator\"]"});
  const auto list = nlohmann::json::parse(tool_schemas(tools));
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["function"]["name"], "search");
  EXPECT_EQ(list[1]["function"]["name"], "calculator");
  EXPECT_EQ(tool_schemas(of({})), "");
  EXPECT_THROW(make_environment(tools, format()), InputError);
  tools.environment.tools = {"calculater"};
  EXPECT_THROW(tool_schemas(tools), ConfigError);
}

TEST(Chosen, TheSandboxIsForCommandsThatAskForIt) {
  EXPECT_FALSE(needs_sandbox(of({"task.name=rooms"})));
  EXPECT_FALSE(needs_sandbox(of({"environment.command=[\"./env\"]"})));
  EXPECT_TRUE(needs_sandbox(of({"environment.command=[\"./env\"]", "environment.sandbox=true"})));
  EXPECT_FALSE(needs_sandbox(of({"environment.name=tools", "environment.tools=[\"calculator\"]"})));
}

}  // namespace
}  // namespace rollcall::environment
