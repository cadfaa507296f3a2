// Calls of functions: {correct, format, name, parameters, values, match}.
#include "base/errors/error.hpp"
#include "reward/judged.hpp"

#include <gtest/gtest.h>

namespace rollcall::reward {
namespace {

constexpr const char* kAdd = R"({"calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}]})";

std::string say(const std::string& response, const char* reference = kAdd) {
  const std::string all = verdict(judged("tool_calls", reference, response));
  return all.substr(0, all.find(" |"));
}

TEST(CallAnswer, HandWorked) {
  EXPECT_EQ(say(R"([{"name": "add", "arguments": {"a": 1, "b": 2}}])"), "1 1 1 1 1 1");
  // ToolRL's example: name 1, parameters 1, one value of two: 3 of 1 + 1 + 2.
  EXPECT_EQ(say(R"([{"name": "add", "arguments": {"a": 1, "b": 3}}])"), "0 1 1 1 0.5 0.75");
  EXPECT_EQ(say(R"([{"name": "add", "arguments": {"a": 1, "c": 2}}])"), "0 1 1 0.333 0.5 0.583");
  EXPECT_EQ(say(R"([{"name": "mul", "arguments": {"a": 1, "b": 2}}])"), "0 1 0 0 0 0");
  EXPECT_EQ(say("[]"), "0 1 0 0 0 0");
}

TEST(CallAnswer, ComparesTreesAndNotTexts) {
  EXPECT_EQ(say("[ {\"arguments\": {\"b\": 2.0,\n\"a\": 1}, \"name\": \"add\"} ]"), "1 1 1 1 1 1");
  EXPECT_EQ(say(R"([{"name": "add", "arguments": {"a": "1", "b": 2}}])"), "0 1 1 1 0.5 0.75")
      << "a text is no number";
}

TEST(CallAnswer, ReadsWhatTemplatesWrite) {
  EXPECT_EQ(say(R"({"name": "add", "parameters": {"a": 1, "b": 2}})"), "1 1 1 1 1 1");
  EXPECT_EQ(
      say("<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1, \"b\": 2}}\n</tool_call>\n"),
      "1 1 1 1 1 1");
  for (const char* broken :
       {"add(1, 2)", R"([{"name": "add"}])", R"([{"name": "add", "arguments": {"a": 1,}}])",
        R"(<tool_call>{"name": "add", "arguments": {}})", R"({"name": 1, "arguments": {}})",
        R"(Calls: [{"name": "add", "arguments": {"a": 1, "b": 2}}])"})
    EXPECT_EQ(say(broken), "0 0 0 0 0 0") << broken;
}

TEST(CallAnswer, SeveralCallsInAnyOrder) {
  constexpr const char* kTwo =
      R"({"calls": [{"name": "f", "arguments": {"x": 1}}, {"name": "f", "arguments": {"x": 2}}]})";
  EXPECT_EQ(
      say(R"([{"name": "f", "arguments": {"x": 2}}, {"name": "f", "arguments": {"x": 1}}])", kTwo),
      "1 1 1 1 1 1");
  // The first call takes what there is, with another value, and nothing is left for the second: names
  // 1/2, (1/2 + 1) / (1 + 2 + 2).
  EXPECT_EQ(say(R"([{"name": "f", "arguments": {"x": 2}}])", kTwo), "0 1 0.5 0.5 0 0.3");
}

TEST(CallAnswer, NamesAReferenceThatCannotBeUsed) {
  for (const char* reference : {"add", "{}", R"({"calls": {}})", R"({"calls": [{"name": "f"}]})"})
    EXPECT_THROW(judged("tool_calls", reference, "[]"), InputError) << reference;
}

}  // namespace
}  // namespace rollcall::reward
