// Tools: what calls return, and conversations in which the policy calls them.
#include "base/errors/error.hpp"
#include "environment/chosen.hpp"
#include "environment/tool.hpp"
#include "sandbox/sandbox.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rollcall::environment {
namespace {

std::string called(const char* tool, const std::string& arguments, std::string_view index = {}) {
  const ToolResult result = find_tool(tool).call(arguments, index);
  return (result.failed ? "failed: " : "") + result.text;
}

TEST(Calculator, IsExact) {
  EXPECT_EQ(called("calculator", R"({"expression":"(12+30)*7"})"), "294");
  EXPECT_EQ(called("calculator", R"({"expression": "345 * 678"})"), "233910");
  EXPECT_EQ(called("calculator", R"({"expression":"1/3-1/2"})"), "-1/6");
}

TEST(Calculator, SaysWhyACallFails) {
  for (const char* arguments :
       {"", "[]", "{}", R"({"expression":7})", R"({"expression":"1","more":"2"})",
        R"({"expression":"1","expression":"2"})", R"({"expression":"1/0"})",
        R"({"expression":"9999999999*9999999999"})", R"({"expression":"two"})", "\xFF"}) {
    const std::string said = called("calculator", arguments);
    EXPECT_TRUE(said.starts_with("failed: ")) << arguments << said;
    EXPECT_TRUE(said.ends_with(".")) << said;
  }
}

TEST(Search, FindsTheLinesThatShareMostWords) {
  const std::string_view index =
      "Ann lives in Rome.\nBob lives in Oslo.\nBob has a red boat.\n\nCat has a boat in Rome.";
  EXPECT_EQ(called("search", R"({"query":"boat in rome?"})", index),
            "Cat has a boat in Rome.\nAnn lives in Rome.\nBob lives in Oslo.");
  EXPECT_EQ(called("search", R"({"query":"BOB bob"})", index),
            "Bob lives in Oslo.\nBob has a red boat.");
  EXPECT_EQ(called("search", R"({"query":"..."})", index), "No line has any of these words.");
}

/// Programs run in the sandbox of this process.
class Python : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {  // before any thread
    if (sandbox::started() == nullptr)
      sandbox::start({.limits = {.cpu_s = 1, .wall_s = 60}, .allow_landlock = true, .workers = 2});
  }
  static ToolResult run(const std::string& code) {
    return find_tool("python").call(nlohmann::json{{"code", code}}.dump(), {});
  }
};

TEST_F(Python, SaysWhatTheProgramPrints) {
  const ToolResult sum = run("print('  one')\nprint(345 * 678)");
  EXPECT_EQ(sum.text, "  one\n233910");
  EXPECT_FALSE(sum.failed || sum.lost);
  EXPECT_EQ(run("x = 1").text, "The program printed nothing.");
  EXPECT_EQ(run("import os; os.write(1, b'a\\xffb')").text,
            "a\xEF\xBF\xBD"
            "b");
}

TEST_F(Python, ShowsTheEndOfStandardError) {
  const ToolResult broken =
      run("print(1)\nimport sys\nsys.stderr.write('x' * 500 + 'the end')\n"
          "sys.exit(3)");
  EXPECT_TRUE(broken.failed);
  EXPECT_FALSE(broken.lost);
  EXPECT_EQ(broken.text, "1\n" + std::string(393, 'x') + "the end");
  const ToolResult raised = run("1/0");
  EXPECT_TRUE(raised.failed && raised.text.ends_with("ZeroDivisionError: division by zero"))
      << raised.text;
}

TEST_F(Python, SaysWhichLimitEndedTheProgram) {
  const ToolResult endless = run("print('begun', flush=True)\nwhile True: pass");
  EXPECT_TRUE(endless.failed && !endless.lost);
  EXPECT_TRUE(endless.text.starts_with("begun\n") &&
              endless.text.ends_with("The program was ended: processor time: 1 s."))
      << endless.text;
}

TEST_F(Python, TakesCodeAlone) {
  const std::string said = called("python", R"({"program":"1"})");
  EXPECT_EQ(said, R"(failed: The arguments must be {"code": a text} and nothing else.)");
}

TEST(Tools, OnlyProgramsNeedTheSandbox) {
  RunConfig config;
  config.environment.name = kToolsName;
  config.environment.tools = {"calculator"};
  EXPECT_FALSE(answers_slowly(config) || needs_sandbox(config));
  config.environment.tools = {"calculator", "search"};
  EXPECT_TRUE(answers_slowly(config) && !needs_sandbox(config));
  config.environment.tools = {"python"};
  EXPECT_TRUE(answers_slowly(config) && needs_sandbox(config));
}

TEST(Tools, SchemasAreJsonThatNamesTheTool) {
  for (const char* name : {"calculator", "search", "python"}) {
    const auto schema = nlohmann::json::parse(find_tool(name).schema);
    EXPECT_EQ(schema.at("function").at("name"), name);
    EXPECT_EQ(schema.at("function").at("parameters").at("required").size(), 1U);
  }
  try {
    find_tool("calculater");
    FAIL() << "accepted";
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean calculator?"), std::string::npos)
        << e.what();
  }
}

class Conversation : public ::testing::Test {
 protected:
  Answer after(const std::string& action, const std::string& state = "0") const {
    return environment_->step(prompt_, state, action, 1, 0);
  }
  const Prompt prompt_;
  const std::unique_ptr<const Environment> environment_ = make_tools(
      {&find_tool("calculator"), &find_tool("search")}, text::CallForm::hermes, "one line\n");
};

TEST_F(Conversation, CallsAreAnsweredAndAnAnswerEnds) {
  EXPECT_EQ(environment_->traits().role, "tool");
  EXPECT_EQ(environment_->start(prompt_, "", 1).state, "0");
  const Answer one = after(
      "Let me see.\n<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": "
      "\"2*21\"}}\n</tool_call>");
  EXPECT_EQ(one.text, "42");
  EXPECT_EQ(one.state, "1");
  EXPECT_EQ(one.kind, 1);
  EXPECT_EQ(one.flags, 0);
  EXPECT_FALSE(one.done);
  const Answer end = after("It is 42.", *one.state);
  EXPECT_TRUE(end.done && !end.correct.has_value());
  EXPECT_EQ(end.state, "2");
  EXPECT_EQ(end.reward, 0.0);
}

TEST_F(Conversation, SeveralCallsAreAnsweredInTheirOrder) {
  const Answer two =
      after(R"(<tool_call>{"name":"search","arguments":{"query":"line"}}</tool_call>)"
            R"(<tool_call>{"name":"calculator","arguments":{"expression":"1/0"}}</tool_call>)");
  EXPECT_TRUE(two.text.starts_with("one line\nThis is no expression")) << two.text;
  EXPECT_EQ(two.flags, turn_flag::error);
}

/// A tool whose sandbox fails, which no program can bring about.
ToolResult fail(std::string_view, std::string_view) { return {.text = "it broke", .lost = true}; }

TEST_F(Conversation, IsLostWithACallOfWhichNothingIsKnown) {
  const ToolRow broken{"broken", "{}", true, true, fail};
  const auto tools = make_tools({&broken}, text::CallForm::hermes, "");
  const Answer lost =
      tools->step(prompt_, "0", R"(<tool_call>{"name":"broken","arguments":{}}</tool_call>)", 1, 0);
  EXPECT_EQ(lost.loss, Loss::told);
  EXPECT_EQ(lost.reason, "it broke");
}

TEST_F(Conversation, FlagsWhatIsNeitherCallNorAnswer) {
  const Answer unread = after("<tool_call>{\"name\":\"calculator\"");
  EXPECT_EQ(unread.flags, turn_flag::invalid);
  EXPECT_FALSE(unread.done || unread.text.empty());
  const Answer stranger = after(R"(<tool_call>{"name":"python","arguments":{}}</tool_call>)");
  EXPECT_EQ(stranger.flags, turn_flag::invalid);
  const Answer nothing = after("  \n");
  EXPECT_EQ(nothing.flags, turn_flag::void_turn);
  EXPECT_TRUE(nothing.done);
}

TEST_F(Conversation, DamagedStatesLoseIt) {
  for (const char* state : {"x", "-1", "01", "1 ", "4294967295", "99999999999"}) {
    EXPECT_EQ(after("It is 42.", state).loss, Loss::malformed) << state;
    EXPECT_EQ(environment_->start(prompt_, state, 1).loss, Loss::malformed) << state;
  }
}

}  // namespace
}  // namespace rollcall::environment
