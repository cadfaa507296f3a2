// Calls of functions in the three forms, every fault by its message, and turns that are damaged at
// random.
#include "text/chat/tool_calls.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "base/text/json.hpp"
#include "text/chat/conversation_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rollcall::text {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kNames{"calculator", "search"};

ToolCalls read(CallForm form, std::string_view turn) { return parse_calls(form, turn, kNames); }

TEST(ToolCalls, HermesHasAnyNumberOfCalls) {
  const ToolCalls none = read(CallForm::hermes, " It is 7. ");
  EXPECT_TRUE(none.calls.empty());
  EXPECT_EQ(none.spoken, "It is 7.");
  EXPECT_EQ(none.fault, "");
  const ToolCalls two =
      read(CallForm::hermes,
           "<think>\n<tool_call>not this</tool_call>\n</think>\nFirst.\n<tool_call>\n"
           R"({"name": "calculator", "arguments": {"x": "}\",:", "y": [1, {"z": 2}]}})"
           "\n</tool_call>\nThen.<tool_call>"
           R"({"arguments":{  "q":"caf\u00e9" },"name":"search"})"
           "</tool_call>");
  EXPECT_EQ(two.fault, "");
  ASSERT_EQ(two.calls.size(), 2U);
  EXPECT_EQ(two.calls[0].name, "calculator");
  EXPECT_EQ(two.calls[0].arguments, R"({"x": "}\",:", "y": [1, {"z": 2}]})");
  EXPECT_EQ(two.calls[1].name, "search");
  EXPECT_EQ(two.calls[1].arguments, R"({  "q":"caf\u00e9" })");  // as the model wrote it
  EXPECT_EQ(two.spoken, "First.\n\nThen.");
}

TEST(ToolCalls, LlamaHasOneCallThatIsTheWholeTurn) {
  const char* call = R"({"name": "calculator", "parameters": {"x": 1}})";
  for (const std::string& turn : {std::string(call), "<|python_tag|>" + std::string(call),
                                  " \n" + std::string(call) + "\n"}) {
    const ToolCalls one = read(CallForm::llama, turn);
    EXPECT_EQ(one.fault, "") << turn;
    ASSERT_EQ(one.calls.size(), 1U) << turn;
    EXPECT_EQ(one.calls[0].arguments, R"({"x": 1})");
    EXPECT_EQ(one.spoken, "");
  }
  for (const char* turn : {"It is {1, 2}.", "{1, 2}", "", "{x | x > 2}"}) {
    const ToolCalls none = read(CallForm::llama, turn);
    EXPECT_EQ(none.fault, "") << turn;
    EXPECT_TRUE(none.calls.empty()) << turn;
    EXPECT_EQ(none.spoken, turn);
  }
}

TEST(ToolCalls, AFenceHasAList) {
  const ToolCalls two =
      read(CallForm::fence,
           "See:\n```json\n[{\"name\": \"search\", \"arguments\": {\"q\": \"a\"}},\n "
           "{\"name\": \"search\", \"arguments\": {}}]\n```\n```python\n1\n```");
  EXPECT_EQ(two.fault, "");
  ASSERT_EQ(two.calls.size(), 2U);
  EXPECT_EQ(two.calls[0].arguments, "{\"q\": \"a\"}");
  EXPECT_EQ(two.calls[1].arguments, "{}");
  EXPECT_EQ(two.spoken, "See:\n\n```python\n1\n```");
  EXPECT_EQ(read(CallForm::fence, "```json\n[]\n```").calls.size(), 0U);
}

TEST(ToolCalls, FaultsSayWhatIsWrong) {
  const auto hermes = [](const std::string& call) { return "<tool_call>" + call + "</tool_call>"; };
  const std::string good = R"({"name": "search", "arguments": {}})";
  struct Case {
    CallForm form;
    std::string turn, fault;
  };
  for (const auto& [form, turn, fault] : std::vector<Case>{
           {CallForm::hermes, "a<tool_call>" + good, "does not end with </tool_call>"},
           {CallForm::hermes, good + "</tool_call>", "without <tool_call> before it"},
           {CallForm::hermes, hermes(""), "cannot be read"},
           {CallForm::hermes, hermes("search()"), "it is not a JSON object"},
           {CallForm::hermes, hermes("[" + good + "]"), "it is not a JSON object"},
           {CallForm::hermes, hermes("\xEF\xBB\xBF" + good), "cannot be read"},
           {CallForm::hermes, hermes(good + good), "it is not a JSON object"},
           {CallForm::hermes, hermes(good) + hermes("{}"), "has no name"},
           {CallForm::hermes, hermes(R"({"name": 7, "arguments": {}})"), "has no name"},
           {CallForm::hermes, hermes(R"({"name": "search"})"), "has no arguments"},
           {CallForm::hermes, hermes(R"({"name": "search", "arguments": "{}"})"),
            "has no arguments"},
           {CallForm::hermes, hermes(R"({"name": "search", "parameters": {}})"),
            "the key \"parameters\""},
           {CallForm::hermes, hermes(R"({"name": "find", "arguments": {}})"),
            "no tool \"find\"; the tools are calculator, search"},
           {CallForm::hermes, hermes(R"({"name": "search", "name": "search", "arguments": {}})"),
            "\"name\" stands twice"},
           {CallForm::hermes, hermes(R"({"name": "search", "arguments": {"a": 1, "a": 2}})"),
            "\"a\" stands twice"},
           {CallForm::hermes,
            hermes(R"({"name": "search", "arguments": )" + std::string(100, '[') + "}"),
            "too deep"},
           {CallForm::llama, good, "the key \"arguments\""},
           {CallForm::llama, "<|python_tag|>print(1)", "cannot be read"},
           {CallForm::llama, R"({"name": "search", "parameters": {}}; {"name": "search")",
            "it is not a JSON object"},
           {CallForm::llama, R"({"name": "search")", "it is not a JSON object"},
           {CallForm::fence, "```json\n[" + good, "does not end with ```"},
           {CallForm::fence, "```json\n" + good + "\n```", "JSON list"},
           {CallForm::fence, "```json\n[7]\n```", "it is not a JSON object"}}) {
    const ToolCalls found = read(form, turn);
    EXPECT_THAT(found.fault, HasSubstr(fault)) << turn;
    EXPECT_TRUE(found.calls.empty()) << turn;
  }
}

/// Turns with bytes changed, removed and repeated: nothing throws, and a call that is found is one.
TEST(ToolCalls, DamagedTurnsGiveAFaultOrCallsThatCanBeUsed) {
  const std::array<std::pair<CallForm, std::string>, 3> turns{
      {{CallForm::hermes,
        "<think>a</think>b<tool_call>\n{\"name\": \"search\", \"arguments\": {\"q\": [1, "
        "\"\\u00e9\"]}}\n</tool_call>c<tool_call>{\"name\": \"calculator\", \"arguments\": "
        "{}}</tool_call>"},
       {CallForm::llama,
        "<|python_tag|>{\"name\": \"search\", \"parameters\": {\"q\": {\"a\": "
        "\"}\"}}}"},
       {CallForm::fence,
        "x```json\n[{\"name\": \"search\", \"arguments\": {\"q\": \"a\"}}, "
        "{\"name\": \"search\", \"arguments\": {}}]\n```y"}}};
  const RandomStream stream(5, RandomPurpose::test, 0);
  std::size_t used = 0, faults = 0;
  std::uint64_t at = 0;
  for (int run = 0; run < 30'000; ++run) {
    auto [form, turn] = turns[std::size_t(run) % turns.size()];
    for (std::uint64_t edits = 1 + stream.below(at++, 3); edits > 0; --edits) {
      const std::size_t place = stream.below(at++, turn.size());
      const std::uint64_t kind = stream.below(at++, 3);
      if (kind == 0) turn[place] = char(stream.below(at++, 256));
      else if (kind == 1) turn.erase(place, 1 + stream.below(at++, 4));
      else turn.insert(place, turn.substr(stream.below(at++, turn.size()), 5));
    }
    const ToolCalls found = read(form, turn);
    EXPECT_TRUE(found.fault.empty() || found.calls.empty()) << turn;
    for (const ToolCall& call : found.calls) {
      EXPECT_NE(std::find(kNames.begin(), kNames.end(), call.name), kNames.end()) << turn;
      EXPECT_TRUE(nlohmann::json::parse(call.arguments, nullptr, false).is_object()) << turn;
    }
    used += found.calls.size();
    faults += found.fault.empty() ? 0U : 1U;
  }
  EXPECT_GT(used, 1000U);
  EXPECT_GT(faults, 1000U);
}

/// The form that is found in what a template makes of a call.
CallForm form_of(const std::string& chat_template) {
  TextFiles files;
  files.chat_template = chat_template;
  TextSection section;
  section.chat_template = "model";
  return call_form(ConversationText(section, files, "the test"));
}

TEST(ToolCalls, TheFormIsFoundByRenderingACall) {
  const std::string
      head =
          "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}",
      tail =
          "{% endfor %}<end>{% endfor %}{% if add_generation_prompt %}<assistant>"
          "{% endif %}";
  EXPECT_EQ(form_of(head +
                    "<tool_call>{\"name\": \"{{ c.function.name }}\", \"arguments\": "
                    "{{ c.function.arguments | tojson }}}</tool_call>" +
                    tail),
            CallForm::hermes);
  EXPECT_EQ(form_of(head +
                    "{\"name\": \"{{ c.function.name }}\", \"parameters\": "
                    "{{ c.function.arguments | tojson }}}" +
                    tail),
            CallForm::llama);
  EXPECT_EQ(form_of(head +
                    "```json\n[{\"name\": \"{{ c.function.name }}\", \"arguments\": "
                    "{{ c.function.arguments | tojson }}}]\n```" +
                    tail),
            CallForm::fence);
  const auto refusal = [](const std::string& chat_template) {
    try {
      form_of(chat_template);
      return std::string("accepted");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(refusal(head + tail), HasSubstr("does not show calls"));
  EXPECT_THAT(refusal(head + "{{ c.function.name }}({{ c.function.arguments | tojson }})" + tail),
              HasSubstr("in a form that is not known"));
  EXPECT_THAT(refusal(head + "{{ raise_exception('no tools here') }}" + tail),
              HasSubstr("no tools here"));
}

TEST(ToolCalls, AnOpeningIsTheBeginningOfACall) {
  for (const auto& [form, rest] :
       {std::pair{CallForm::hermes, "}\n</tool_call>"}, std::pair{CallForm::llama, "}"},
        std::pair{CallForm::fence, "}]\n```"}}) {
    const std::string key = form == CallForm::llama ? "parameters" : "arguments";
    const ToolCalls named = read(form, call_opening(form, "search") + "{\"q\": 1}" + rest);
    ASSERT_EQ(named.calls.size(), 1U) << named.fault;
    EXPECT_EQ(named.calls[0].name, "search");
    const ToolCalls any =
        read(form, call_opening(form) + "calculator\", \"" + key + "\": {}" + rest);
    ASSERT_EQ(any.calls.size(), 1U) << any.fault;
    EXPECT_EQ(any.calls[0].name, "calculator");
  }
}

TEST(ToolCalls, ACallMayBeginAtAMarkOrItsBeginning) {
  EXPECT_EQ(call_may_begin(CallForm::hermes, "So <tool_call>{"), 3U);
  EXPECT_EQ(call_may_begin(CallForm::hermes, "So <tool_call> <tool_call>", 4), 15U);
  EXPECT_EQ(call_may_begin(CallForm::hermes, "So <tool"), 3U);
  EXPECT_EQ(call_may_begin(CallForm::hermes, "So <tools>"), 10U);
  EXPECT_EQ(call_may_begin(CallForm::fence, "```js"), 0U);
  EXPECT_EQ(call_may_begin(CallForm::fence, "```c"), 4U);
  EXPECT_EQ(call_may_begin(CallForm::llama, " {"), 1U);
  EXPECT_EQ(call_may_begin(CallForm::llama, "<|py"), 0U);
  EXPECT_EQ(call_may_begin(CallForm::llama, "It is {1}"), 9U);
  EXPECT_EQ(call_may_begin(CallForm::llama, "<think>{x}</think>\n{"), 19U);
}

}  // namespace
}  // namespace rollcall::text
