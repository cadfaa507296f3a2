// What an answer says: content, calls of tools, why it ended, and what comes back in later calls.
#include "api/said.hpp"

#include "api/messages.hpp"
#include "base/errors/error.hpp"
#include "base/text/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace rollcall::api {
namespace {

using testing::HasSubstr;
using text::CallForm;

class AnswerTest : public testing::Test {
 protected:
  Said said(const Call& call, const std::string& text, bool stopped = true,
            const std::string& forced = {}) {
    return said_of(shown_, call, forced, tokens_of(shown_, text, false), stopped);
  }

  text::PromptFormat format_ = format_of(template_text(CallForm::hermes));
  Template shown_ = template_of(format_);
  Call plain_ = call_in(Call::Kind::chat, chat_body());
  Call tools_ = call_in(Call::Kind::chat, tools_body());
};

const std::string kAdd =
    "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>";

TEST_F(AnswerTest, ATextIsWhatWasSampled) {
  const Said text = said(plain_, " Three.\n" + kAdd);
  EXPECT_EQ(text.content, " Three.\n" + kAdd) << "without tools nothing is a call";
  EXPECT_TRUE(text.calls.empty());
  EXPECT_EQ(text.finish, "stop");
  EXPECT_EQ(said(plain_, "Thr", false).finish, "length");
  Tokens ended = tokens_of(shown_, "Three.", true);
  EXPECT_EQ(said_of(shown_, plain_, "", ended, true).content, "Three.");
}

TEST_F(AnswerTest, CallsAreTakenOutOfTheContent) {
  const Said both = said(tools_, "I add.\n\n" + kAdd + "\n" + kAdd + "\nThen more.");
  ASSERT_EQ(both.calls.size(), 2u);
  EXPECT_EQ(both.calls[1].arguments, "{\"a\": 1}");
  EXPECT_EQ(both.content, "I add.\nThen more.");
  EXPECT_EQ(both.finish, "tool_calls");
  EXPECT_EQ(said(tools_, "\n" + kAdd).content, "");
  const Said thought = said(tools_, "<think>\n" + kAdd + "?</think>\n" + kAdd);
  ASSERT_EQ(thought.calls.size(), 1u);
  EXPECT_EQ(thought.content, "<think>\n" + kAdd + "?</think>") << "a thought calls nothing";
  const Call none = call_in(Call::Kind::chat, tools_body(R"(, "tool_choice": "none")"));
  EXPECT_EQ(said(none, kAdd).content, kAdd);
}

TEST_F(AnswerTest, ACallThatCannotBeReadStaysText) {
  for (const std::string& text :
       {std::string("<tool_call>\n{\"name\": \"add\"}\n</tool_call>"),
        std::string("<tool_call>\n{"),
        std::string("<tool_call>{\"name\": \"subtract\", \"arguments\": {}}</tool_call>")}) {
    const Said unread = said(tools_, "So: " + text);
    EXPECT_TRUE(unread.unread) << text;
    EXPECT_EQ(unread.content, "So: " + text);
    EXPECT_EQ(unread.finish, "stop");
    EXPECT_TRUE(unread.calls.empty());
  }
  EXPECT_FALSE(said(tools_, "No call.").unread);
}

TEST_F(AnswerTest, OtherFormsOfCalls) {
  const text::PromptFormat llama = format_of(template_text(CallForm::llama)),
                           fence = format_of(template_text(CallForm::fence));
  for (const auto& [format, text] : std::vector<std::pair<const text::PromptFormat*, std::string>>{
           {&llama, R"({"name": "add", "parameters": {"a": {"name": "add", "parameters": {}}}})"},
           {&fence, "```json\n[{\"name\": \"add\", \"arguments\": {\"a\": {\"b\": 1}}}]\n```"}}) {
    shown_ = template_of(*format);
    const Said called = said(tools_, "<think>{x}</think>\n " + text);
    ASSERT_EQ(called.calls.size(), 1u) << text;
    EXPECT_EQ(called.content, "<think>{x}</think>");
    EXPECT_EQ(said(tools_, "It is {1, 2}.").content, "It is {1, 2}.");
  }
}

TEST_F(AnswerTest, AForcedBeginningIsReadWithTheRest) {
  for (const CallForm form : {CallForm::hermes, CallForm::llama, CallForm::fence}) {
    const text::PromptFormat format = format_of(template_text(form));
    shown_ = template_of(format);
    ASSERT_EQ(shown_.calls, form);
    const std::string end = form == CallForm::hermes  ? "}\n</tool_call>"
                            : form == CallForm::fence ? "}]\n```"
                                                      : "}";
    const std::string key = form == CallForm::llama ? "parameters" : "arguments";
    const Call required = call_in(Call::Kind::chat, tools_body(R"(, "tool_choice": "required")"));
    const std::string forced = forced_beginning(required, shown_);
    const Said any = said(required, "look_up\", \"" + key + "\": {}" + end, true, forced);
    ASSERT_EQ(any.calls.size(), 1u) << forced;
    EXPECT_EQ(any.calls[0].name, "look_up");
    const Call named = call_in(
        Call::Kind::chat,
        tools_body(R"(, "tool_choice": {"type": "function", "function": {"name": "add"}})"));
    const Said one = said(named, "{\"a\": 2}" + end, true, forced_beginning(named, shown_));
    ASSERT_EQ(one.calls.size(), 1u) << forced_beginning(named, shown_);
    EXPECT_EQ(one.calls[0].arguments, "{\"a\": 2}");
    EXPECT_EQ(one.content, "");
    EXPECT_EQ(forced_beginning(tools_, shown_), "");
    EXPECT_TRUE(said(required, "", false, forced).unread);
  }
}

TEST_F(AnswerTest, ACallsStopTextIsCutOff) {
  const Call call = call_in(Call::Kind::chat, chat_body(R"(, "stop": ["END", "\n\n"])"));
  EXPECT_EQ(said(call, "One.\n\n").content, "One.");
  EXPECT_EQ(said(call, "Two. END of it").content, "Two. ") << "a token may hold more than the text";
  EXPECT_EQ(said(call, "EN", false).content, "EN");
  const Call forced =
      call_in(Call::Kind::chat, tools_body(R"(, "tool_choice": "required", "stop": ["name"])"));
  EXPECT_EQ(said(forced, "add", false, forced_beginning(forced, shown_)).content,
            forced_beginning(forced, shown_) + "add")
      << "what was given is not what stops";
}

TEST_F(AnswerTest, BytesThatAreNoTextAreReplaced) {
  const Said broken = said(plain_, "a\xFF\xE2\x82");
  EXPECT_EQ(broken.content, "a\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_TRUE(nlohmann::json::accept(answer_json(plain_, broken, {}, 1)));
}

TEST_F(AnswerTest, AMessageComesBackAsItWasSent) {
  for (const std::string& text : {std::string("Three."), std::string(), "I add.\n" + kAdd, kAdd}) {
    const Said answer = said(tools_, text);
    const text::Message message = message_of(answer, 7);
    EXPECT_EQ(normal_message(message), message);
    const auto sent = text::Message::parse(answer_json(tools_, answer, {}, 7));
    EXPECT_EQ(normal_message(sent["choices"][0]["message"]).dump(), message.dump()) << text;
  }
  EXPECT_FALSE(message_of(said(tools_, kAdd), 7).contains("content")) << "there are calls alone";
}

TEST_F(AnswerTest, IdsAreThoseOfTheAddress) {
  EXPECT_EQ(call_id(1, 0), call_id(1, 0));
  EXPECT_NE(call_id(1, 0), call_id(1, 1));
  EXPECT_NE(call_id(1, 0), call_id(2, 0));
  EXPECT_EQ(call_id(1, 0).size(), 17u);
  EXPECT_EQ(answer_json(plain_, said(plain_, "a"), {}, 1),
            answer_json(plain_, said(plain_, "a"), {}, 1));
}

TEST_F(AnswerTest, NumbersAreThoseOfTheTokens) {
  const Call asks = call_in(Call::Kind::chat, chat_body(R"(, "logprobs": true)"));
  const Tokens sampled = tokens_of(shown_, "a\xC3\xA9", true);
  const std::vector<float> logprob = {-1.0F, -std::numeric_limits<float>::infinity(), -2.0F, 0.0F};
  const Numbers numbers = numbers_of(shown_, asks, 5, sampled, logprob);
  EXPECT_EQ(numbers.prompt_tokens, 5);
  EXPECT_EQ(numbers.completion_tokens, 4) << "the end token was drawn, too";
  ASSERT_EQ(numbers.tokens.size(), 4u);
  EXPECT_EQ(numbers.tokens[0].text, "a");
  EXPECT_EQ(numbers.tokens[1].text, "\xEF\xBF\xBD") << "half a character";
  EXPECT_EQ(numbers.tokens[1].logprob, -9999.0) << "JSON has no infinity";
  EXPECT_EQ(numbers.tokens[3].text, "<|im_end|>");
  EXPECT_EQ(numbers.tokens[3].offset, 3);
  EXPECT_TRUE(numbers_of(shown_, plain_, 5, sampled, logprob).tokens.empty());
}

TEST_F(AnswerTest, WhatThePolicyCannotReadIsRefused) {
  EXPECT_FALSE(unfit(plain_, shown_) || unfit(tools_, shown_));
  const text::PromptFormat deaf = format_of(
      "{% for message in messages %}{{ message.role }}{{ message.content }}<|im_end|>{% endfor %}"
      "{% if add_generation_prompt %}assistant{% endif %}");
  EXPECT_FALSE(unfit(plain_, template_of(deaf)));
  const auto refusal = unfit(tools_, template_of(deaf));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->param, "tools");
  EXPECT_THAT(refusal->message, HasSubstr("does not show tools"));
  const text::PromptFormat bare = format_of("");
  ASSERT_TRUE(unfit(plain_, template_of(bare)));
  EXPECT_THAT(unfit(plain_, template_of(bare))->message, HasSubstr("no chat template"));
  EXPECT_FALSE(unfit(call_in(Call::Kind::completion, R"({"model": "m", "prompt": "a"})"),
                     template_of(bare)));
}

}  // namespace
}  // namespace rollcall::api
