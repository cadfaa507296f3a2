// A streamed answer says what the whole answer says, wherever its tokens are cut, and nothing early.
#include "api/said.hpp"

#include "api/stream.hpp"
#include "base/text/json.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace rollcall::api {
namespace {

using Json = nlohmann::json;
using text::CallForm;

/// What the events of a stream say together.
struct Heard {
  std::string content{};
  Json calls = Json::array();
  std::string finish{};
  std::vector<double> logprobs{};
  std::size_t events = 0;
};

void hear(const std::string& events, Heard& heard) {
  for (std::size_t at = 0; at < events.size();) {
    const std::size_t end = events.find("\n\n", at);
    ASSERT_NE(end, std::string::npos);
    const std::string event = events.substr(at + 6, end - at - 6);
    at = end + 2;
    ++heard.events;
    if (event == "[DONE]") continue;
    const Json chunk = Json::parse(event);
    for (const Json& choice : chunk["choices"]) {
      const Json delta = choice.contains("delta") ? choice["delta"] : Json::object();
      heard.content += choice.value("text", delta.value("content", ""));
      if (delta.contains("tool_calls"))
        for (Json call : delta["tool_calls"]) {
          EXPECT_EQ(call["index"], heard.calls.size());
          call.erase("index");
          heard.calls.push_back(call);
        }
      if (choice["finish_reason"].is_string()) heard.finish = choice["finish_reason"];
      if (choice["logprobs"].is_null()) continue;
      const Json& told = choice["logprobs"];
      for (const Json& token : told.contains("content") ? told["content"] : told["token_logprobs"])
        heard.logprobs.push_back(token.is_number() ? double(token) : double(token["logprob"]));
    }
  }
}

class StreamTest : public testing::Test {
 protected:
  /// Streams tokens, each stretch of `cuts` tokens at a time, and compares with the whole answer.
  Heard compare(const Call& call, const Tokens& sampled, const std::string& forced,
                const std::vector<std::size_t>& cuts) {
    std::vector<float> logprob;
    for (std::size_t i = 0; i < sampled.size(); ++i) logprob.push_back(-0.25F * float(i));
    const Said said = said_of(shown_, call, forced, sampled, true);
    Stream stream(shown_, call, forced, 3);
    Heard heard;
    for (const std::size_t cut : cuts)
      hear(stream.more(std::span(sampled).first(cut), std::span(logprob).first(cut)), heard);
    EXPECT_TRUE(said.content.starts_with(heard.content)) << said.content << "\n" << heard.content;
    hear(stream.rest(said, numbers_of(shown_, call, 1, sampled, logprob)), heard);
    EXPECT_EQ(heard.content, said.content);
    EXPECT_EQ(heard.finish, said.finish);
    EXPECT_EQ(heard.calls.size(), said.calls.size());
    for (std::size_t i = 0; i < said.calls.size(); ++i) {
      EXPECT_EQ(heard.calls[i]["id"], call_id(3, i));
      EXPECT_EQ(heard.calls[i]["function"]["arguments"], said.calls[i].arguments);
    }
    EXPECT_EQ(heard.logprobs.size(), call.logprobs ? sampled.size() : 0) << "each token once";
    for (std::size_t i = 0; i < heard.logprobs.size(); ++i)
      EXPECT_EQ(heard.logprobs[i], double(logprob[i]));
    return heard;
  }
  std::string first(const Call& call, const std::string& text) {
    const Tokens sampled = tokens_of(shown_, text, false);
    Heard heard;
    hear(Stream(shown_, call, {}, 3).more(sampled, std::vector<float>(sampled.size())), heard);
    return heard.content;
  }

  text::PromptFormat format_ = format_of(template_text(CallForm::hermes));
  Template shown_ = template_of(format_);
};

TEST_F(StreamTest, NothingIsSaidThatMayBeTakenBack) {
  const Call plain = call_in(Call::Kind::chat, chat_body());
  const Call stops = call_in(Call::Kind::chat, chat_body(R"(, "stop": ["END", "\n\n"])"));
  const Call tools = call_in(Call::Kind::chat, tools_body());
  EXPECT_EQ(first(plain, "a <tool_call> "), "a <tool_call> ");
  EXPECT_EQ(first(plain, "caf\xC3"), "caf") << "half a character";
  EXPECT_EQ(first(stops, "The EN"), "The ");
  EXPECT_EQ(first(stops, "The ENorm"), "The ENorm");
  EXPECT_EQ(first(stops, "One.\n"), "One.");
  EXPECT_EQ(first(stops, "One.\n\nTwo."), "One.");
  EXPECT_EQ(first(tools, "I add.\n\n<tool"), "I add.");
  EXPECT_EQ(first(tools, "I add.\n\n<tools>"), "I add.\n\n<tools>");
  EXPECT_EQ(first(tools, "I add. \n"), "I add.") << "a call may come";
  EXPECT_EQ(first(tools, "I add. <tool_call> {} </tool_call> more"), "I add.");
}

TEST_F(StreamTest, ACallOfFormLlamaIsTheWholeTurn) {
  const text::PromptFormat llama = format_of(template_text(CallForm::llama));
  shown_ = template_of(llama);
  const Call tools = call_in(Call::Kind::chat, tools_body());
  EXPECT_EQ(first(tools, " {\"name\""), "");
  EXPECT_EQ(first(tools, "<|python"), "");
  EXPECT_EQ(first(tools, "It is {1, 2}"), "It is {1, 2}");
  EXPECT_EQ(first(tools, "<think>x</think>\n{"), "<think>x</think>");
}

TEST_F(StreamTest, StreamedIsWhole) {
  const std::vector<std::string> pieces = {
      "<tool_call>",
      "</tool_call>",
      "{\"name\": \"add\", \"arguments\": {\"a\": 1}}",
      "{\"name\": \"add\", \"parameters\": {}}",
      "<think>",
      "</think>",
      "\n",
      " ",
      "caf\xC3\xA9",
      "\xF0\x9F\x98\x80",
      "\xE2\x82",
      "\xFF",
      "END",
      "EN",
      "```json",
      "```",
      "[",
      "]",
      "{",
      "}",
      "word",
      "<tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n</tool_call>",
      "<|im_start|>",
      "<|python_tag|>"};
  const std::string stops = R"(, "stop": ["END", "\n\n", "é"])", log = R"(, "logprobs": true)";
  std::size_t called = 0, unread = 0;
  for (const CallForm form : {CallForm::hermes, CallForm::llama, CallForm::fence}) {
    const text::PromptFormat format = format_of(template_text(form));
    shown_ = template_of(format);
    const std::vector<Call> calls = {
        call_in(Call::Kind::chat, chat_body()), call_in(Call::Kind::chat, tools_body(log)),
        call_in(Call::Kind::chat, tools_body(stops + R"(, "tool_choice": "required")")),
        call_in(Call::Kind::chat, tools_body(stops + log)),
        call_in(Call::Kind::completion,
                R"({"model": "m", "prompt": "a", "logprobs": 0)" + stops + "}")};
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      std::mt19937_64 random(seed);
      const Call& call = calls[seed % calls.size()];
      const std::string forced = forced_beginning(call, shown_);
      std::string text =
          forced.empty() || random() % 2 == 0 ? "" : "add\", \"arguments\": {}}\n</tool_call>";
      for (auto i = random() % 8; i > 0; --i) text += pieces[random() % pieces.size()];
      // sampling ends with the first stop text
      Tokens sampled;
      for (const char c : text) {
        sampled.push_back(std::int32_t(static_cast<unsigned char>(c)));
        const std::string now = format.answer_text(sampled);
        bool stopped = false;
        for (const std::string& stop : call.stop) stopped = stopped || now.ends_with(stop);
        if (stopped) break;
      }
      std::vector<std::size_t> cuts;
      for (std::size_t at = 0; at < sampled.size();)
        cuts.push_back(at = std::min(sampled.size(), at + 1 + random() % 6));
      compare(call, sampled, forced, cuts);
      if (HasFailure()) {
        ADD_FAILURE() << "form " << int(form) << " seed " << seed << ": " << forced << text;
        return;
      }
      const Said said = said_of(shown_, call, forced, sampled, true);
      called += said.calls.empty() ? 0 : 1;
      unread += said.unread ? 1 : 0;
    }
  }
  EXPECT_GT(called, 20u);
  EXPECT_GT(unread, 20u);
}

TEST_F(StreamTest, AnAnswerWithoutATokenHasItsEvents) {
  const Call call = call_in(Call::Kind::chat, chat_body());
  const Heard heard = compare(call, {}, {}, {});
  EXPECT_EQ(heard.events, 3u) << "who speaks, why it ends, the end";
  const Heard ended = compare(call, tokens_of(shown_, "", true), {}, {1});
  EXPECT_EQ(ended.content, "");
}

}  // namespace
}  // namespace rollcall::api
