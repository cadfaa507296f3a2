// Every key of a request: what is used, what is ignored, and what is refused with the key's name.
#include "api/said.hpp"

#include "api/messages.hpp"
#include "base/text/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rollcall::api {
namespace {

using testing::HasSubstr;
using Kind = Call::Kind;

/// The refusal of a request; a failure of the test if it is read.
Refusal refused(Kind kind, const std::string& body, const SamplingParams& sampling = {}) {
  auto read = read_call(kind, body, sampling);
  EXPECT_TRUE(std::holds_alternative<Refusal>(read)) << body;
  return std::holds_alternative<Refusal>(read) ? std::get<Refusal>(read) : Refusal{.message = ""};
}

std::string completion_body(const std::string& more = {}) {
  return R"({"model": "policy", "prompt": "Once")" + more + "}";
}

TEST(ReadCall, AChatHasWhatWasAsked) {
  const Call call = call_in(Kind::chat,
                            R"({"messages": [{"role": "developer", "content": "Be brief."},
                       {"content": [{"type": "text", "text": "What "}, {"type": "text", "text": "is it?"}],
                        "role": "user"}],
          "model": "any name", "stop": ["END", "\n\n"], "max_completion_tokens": 7, "seed": -3,
          "stream": true, "stream_options": {"include_usage": true}, "logprobs": true, "n": 1,
          "temperature": 1, "top_p": 1.0, "user": "u", "metadata": {"a": "b"}, "store": false,
          "service_tier": "auto", "parallel_tool_calls": true, "reasoning_effort": "low",
          "presence_penalty": 0, "frequency_penalty": 0.0, "logit_bias": {}, "top_logprobs": null,
          "response_format": {"type": "text"}, "modalities": ["text"]})");
  EXPECT_EQ(call.kind, Kind::chat);
  EXPECT_EQ(call.model, "any name");
  ASSERT_EQ(call.messages.size(), 2u);
  EXPECT_EQ(call.messages[0].dump(), R"({"role":"system","content":"Be brief."})");
  EXPECT_EQ(call.messages[1].dump(), R"({"role":"user","content":"What is it?"})");
  EXPECT_TRUE(call.tools.is_null());
  EXPECT_THAT(call.stop, testing::ElementsAre("END", "\n\n"));
  EXPECT_EQ(call.max_tokens, 7);
  EXPECT_EQ(call.seed, -3);
  EXPECT_TRUE(call.streams && call.usage && call.logprobs);
}

TEST(ReadCall, WhatIsLeftOutOrNullIsNotAsked) {
  for (const std::string more :
       {"", R"(, "stop": null, "max_tokens": null, "seed": null, "stream": null, "tools": null,
               "tool_choice": null, "logprobs": null, "n": null, "temperature": null)",
        R"(, "tools": [], "tool_choice": "auto", "stream": false, "logprobs": false)"}) {
    const Call call = call_in(Kind::chat, chat_body(more));
    EXPECT_TRUE(call.stop.empty() && call.tools.is_null());
    EXPECT_FALSE(call.max_tokens || call.seed || call.streams || call.usage || call.logprobs);
    EXPECT_EQ(call.choice, Call::Choice::automatic);
  }
}

TEST(ReadCall, ACompletionHasOnePrompt) {
  const Call call =
      call_in(Kind::completion, completion_body(R"(, "logprobs": 0, "max_tokens": 16, "stop": "."
                                                   , "echo": false, "best_of": 1, "suffix": null)"));
  EXPECT_EQ(call.prompt, "Once");
  EXPECT_TRUE(call.logprobs);
  EXPECT_THAT(call.stop, testing::ElementsAre("."));
  EXPECT_EQ(call_in(Kind::completion, R"({"model": "m", "prompt": ["one"]})").prompt, "one");
  for (const char* prompt : {"[\"one\", \"two\"]", "[1, 2]", "[[1, 2]]", "7", "null", "[]"}) {
    const Refusal refusal =
        refused(Kind::completion, std::string(R"({"model": "m", "prompt": )") + prompt + "}");
    EXPECT_EQ(refusal.param, "prompt");
    EXPECT_THAT(refusal.message, HasSubstr("prompt is not one text"));
  }
}

TEST(ReadCall, ChoicesOfTools) {
  EXPECT_THAT(tool_names(call_in(Kind::chat, tools_body())),
              testing::ElementsAre("add", "look_up"));
  EXPECT_EQ(call_in(Kind::chat, tools_body(R"(, "tool_choice": "none")")).choice,
            Call::Choice::none);
  EXPECT_EQ(call_in(Kind::chat, tools_body(R"(, "tool_choice": "required")")).choice,
            Call::Choice::required);
  const Call named = call_in(
      Kind::chat,
      tools_body(R"(, "tool_choice": {"type": "function", "function": {"name": "look_up"}})"));
  EXPECT_EQ(named.choice, Call::Choice::named);
  EXPECT_EQ(named.named, "look_up");
  const std::string missing =
      R"(, "tool_choice": {"type": "function", "function": {"name": "look"}})";
  EXPECT_THAT(refused(Kind::chat, tools_body(missing)).message, HasSubstr("did you mean look_up?"));
  EXPECT_THAT(refused(Kind::chat, chat_body(R"(, "tool_choice": "required")")).message,
              HasSubstr("there are no tools"));
}

TEST(ReadCall, WhatCannotBeHadIsRefusedByItsKey) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"temperature", "0.7"},
      {"temperature", "\"hot\""},
      {"top_p", "0.9"},
      {"top_k", "5"},
      {"n", "2"},
      {"presence_penalty", "0.5"},
      {"frequency_penalty", "-1"},
      {"logit_bias", R"({"50256": -100})"},
      {"min_p", "0.1"},
      {"response_format", R"({"type": "json_object"})"},
      {"top_logprobs", "5"},
      {"functions", R"([{"name": "f"}])"},
      {"function_call", "\"auto\""},
      {"modalities", R"(["text", "audio"])"},
      {"audio", R"({"voice": "v", "format": "wav"})"},
      {"web_search_options", "{}"},
      {"stop", R"(["a", 1])"},
      {"stop", R"([""])"},
      {"stop", R"(["a","b","c","d","e","f","g","h","i","j","k","l","m","n","o","p","q"])"},
      {"seed", "1.5"},
      {"seed", "18446744073709551615"},
      {"max_tokens", "0"},
      {"max_tokens", "\"all\""},
      {"max_completion_tokens", "-1"},
      {"stream", "1"},
      {"stream_options", "true"},
      {"logprobs", "2"},
      {"tools", "{}"},
      {"tools", R"([{"type": "custom", "custom": {"name": "c"}}])"},
      {"tools", R"([{"type": "function"}])"},
      {"tools", R"([{"type": "function", "function": {"name": 1}}])"},
      {"tools", R"([{"type":"function","function":{"name":"f"}},
                    {"type":"function","function":{"name":"f"}}])"},
      {"tool_choice", "\"any\""},
      {"tool_choice", R"({"type": "function"})"},
      {"prompt", "\"Once\""}};
  for (const auto& [key, value] : rows) {
    const Refusal refusal = refused(Kind::chat, chat_body(", \"" + key + "\": " + value));
    EXPECT_EQ(refusal.status, 400) << key << value;
    EXPECT_EQ(refusal.type, "invalid_request_error");
    EXPECT_EQ(refusal.param, key) << refusal.message;
    EXPECT_THAT(refusal.message, HasSubstr(key));
  }
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"best_of", "3"},
                                                        {"echo", "true"},
                                                        {"suffix", "\" end\""},
                                                        {"logprobs", "1"},
                                                        {"logprobs", "true"},
                                                        {"messages", "[]"},
                                                        {"tools", kTools}})
    EXPECT_EQ(refused(Kind::completion, completion_body(", \"" + key + "\": " + value)).param, key);
}

TEST(ReadCall, SettingsOfTheRunMayBeSaidAgain) {
  SamplingParams sampling;
  sampling.temperature = 0.7, sampling.top_p = 0.95, sampling.top_k = 20;
  call_in(Kind::chat, chat_body(R"(, "temperature": 0.7, "top_p": 0.95, "top_k": 20)"), sampling);
  const Refusal refusal = refused(Kind::chat, chat_body(R"(, "temperature": 0.8)"), sampling);
  EXPECT_THAT(refusal.message, HasSubstr("temperature is 0.8, and answers are drawn with 0.7 now"));
  EXPECT_THAT(refusal.message, HasSubstr("leave temperature out"));
}

TEST(ReadCall, AnUnknownKeyNamesTheNearestOne) {
  const Refusal refusal = refused(Kind::chat, chat_body(R"(, "max_token": 5)"));
  EXPECT_EQ(refusal.param, "max_token");
  EXPECT_THAT(refusal.message, HasSubstr("did you mean max_tokens?"));
  EXPECT_EQ(refused(Kind::chat, chat_body(R"(, "guided_regex": "a*")")).param, "guided_regex");
  EXPECT_EQ(refused(Kind::completion, completion_body(R"(, "messages": [])")).param, "messages");
}

TEST(ReadCall, MaxTokensHasOneValue) {
  EXPECT_EQ(
      call_in(Kind::chat, chat_body(R"(, "max_tokens": 5, "max_completion_tokens": 5)")).max_tokens,
      5);
  EXPECT_THAT(
      refused(Kind::chat, chat_body(R"(, "max_tokens": 5, "max_completion_tokens": 6)")).message,
      HasSubstr("differ"));
}

TEST(ReadCall, MessagesThatCannotBeShownAreNamed) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"[]", "messages is no list with a message"},
      {"null", "messages is no list with a message"},
      {"[1]", "messages[0] cannot be read: it is no object"},
      {R"([{"content": "a"}])", "it has no role"},
      {R"([{"role": "users", "content": "a"}])", "did you mean user?"},
      {R"([{"role": "function", "name": "f", "content": "a"}])", "there is no role \"function\""},
      {R"([{"role": "user"}])", "it has no content"},
      {R"([{"role": "user", "content": 1}])", "neither a text nor a list of parts"},
      {R"([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}])",
       "a part of type \"image_url\""},
      {R"([{"role": "user", "content": [{"type": "text"}]}])", "a part of its content has no text"},
      {R"([{"role": "assistant", "content": null}])", "it has no content"},
      {R"([{"role": "assistant", "tool_calls": []}])", "no list with a call"},
      {R"([{"role": "assistant", "tool_calls": [{"id": "c", "type": "function"}]}])",
       "no function with name and arguments"},
      {R"([{"role": "assistant", "tool_calls": [{"id": "c", "type": "function",
            "function": {"name": "f", "arguments": {}}}]}])",
       "which are texts"},
      {R"([{"role": "user", "content": "a", "tool_calls": [{"id": "c"}]}])",
       "only the assistant calls tools"},
      {R"([{"role": "user", "content": "a"}, {"role": "tool", "content": "3"}])",
       "messages[1] cannot be read: it has no tool_call_id"}};
  for (const auto& [messages, wanted] : rows) {
    const Refusal refusal = refused(Kind::chat, R"({"model": "m", "messages": )" + messages + "}");
    EXPECT_THAT(refusal.message, HasSubstr(wanted));
    EXPECT_EQ(refusal.param, "messages");
  }
}

TEST(ReadCall, WhatIsNoObjectIsRefused) {
  const std::string deep(100, '[');
  for (const std::string& body :
       {std::string(), std::string("nonsense"), std::string("[]"), std::string("{\"model\": \"m\""),
        std::string(R"({"model": "m", "model": "n"})"), deep, std::string("{\"model\": \"\xFF\"}")})
    EXPECT_THAT(refused(Kind::chat, body).message, HasSubstr("the body cannot be read"));
  EXPECT_EQ(refused(Kind::chat, R"({"messages": []})").param, "model");
}

TEST(ReadCall, AnyBytesGiveACallOrARefusal) {
  const std::string bodies[] = {
      tools_body(R"(, "tool_choice": "required", "stop": ["a"], "seed": 1)"),
      completion_body(R"(, "logprobs": 0, "stream_options": {}, "n": 1)")};
  const std::string pieces[] = {"null",
                                "[",
                                "]",
                                "{",
                                "}",
                                "\"",
                                ",",
                                ":",
                                "1e999",
                                "-",
                                "\\u0000",
                                "true",
                                "\"role\"",
                                "\"tool_calls\":[{}]",
                                "\"content\":[]",
                                "\xF0",
                                "{}",
                                "[[]]"};
  std::size_t read_whole = 0;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    std::mt19937_64 random(seed);
    const auto kind = seed % 2 == 0 ? Kind::chat : Kind::completion;
    std::string body = bodies[seed % 2];
    for (auto i = random() % 4; i > 0; --i) {
      const std::size_t at = random() % (body.size() + 1);
      if (random() % 2 == 0) body.insert(at, pieces[random() % std::size(pieces)]);
      else body.erase(at, 1 + random() % 8);
    }
    const auto read = read_call(kind, body, {});
    if (const auto* refusal = std::get_if<Refusal>(&read)) {
      EXPECT_FALSE(refusal->message.empty());
      EXPECT_TRUE(nlohmann::json::accept(error_json(*refusal)));
    } else {
      ++read_whole;
    }
  }
  EXPECT_GT(read_whole, 500u) << "those that were not changed, at least";
}

TEST(NormalMessage, IsTheSameHoweverAClientSendsIt) {
  const std::string normal =
      R"({"role":"assistant","content":"Hm.","tool_calls":[{"id":"call_1","type":"function",)"
      R"("function":{"name":"add","arguments":"{ \"a\":1.0 }"}}]})";
  for (const std::string& sent :
       {normal,
        std::string(R"({"tool_calls":[{"function":{"arguments":"{ \"a\":1.0 }","name":"add"},)"
                    R"("type":"function","id":"call_1","index":0}],"refusal":null,)"
                    R"("annotations":[],"audio":null,"function_call":null,"content":"Hm.",)"
                    R"("role":"assistant"})"),
        std::string(
            R"({"role":"assistant","content":[{"type":"text","text":"H"},)"
            R"({"type":"text","text":"m."}],"name":null,"tool_calls":[{"id":"call_1",)"
            R"("type":"function","function":{"name":"add","arguments":"{ \"a\":1.0 }"}}]})")})
    EXPECT_EQ(normal_message(text::Message::parse(sent)).dump(), normal) << sent;
  EXPECT_EQ(normal_message(text::Message::parse(
                               R"({"z":1,"tool_call_id":"c","content":"3","b":2,"role":"tool"})"))
                .dump(),
            R"({"role":"tool","content":"3","tool_call_id":"c","b":2,"z":1})");
}

}  // namespace
}  // namespace rollcall::api
