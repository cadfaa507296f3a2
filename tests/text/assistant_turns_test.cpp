// What of a conversation is learnt, against what transformers' generation marks say, and by what
// must hold for every template and conversation.
#include "text/assistant_turns.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "support/spelling_tokenizer.hpp"
#include "text/prompt_format.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>

namespace rollcall::text {
namespace {

using Json = nlohmann::ordered_json;
using Spans = std::vector<std::pair<std::size_t, std::size_t>>;

const Json& fixture() {
  static const Json json = Json::parse(read_file(ROLLCALL_LEARNT_FIXTURE));
  return json;
}

PromptFormat format_of(const std::string& name) {
  TextFiles files;
  files.tokenizer = std::make_shared<Spelling>(fixture().at("special").at(name).get<std::vector<std::string>>());
  files.chat_template = read_file(std::filesystem::path(ROLLCALL_LEARNT_TEMPLATES) / (name + ".jinja"));
  for (const auto& [key, token] : fixture().at("variables").items()) files.special_tokens[key] = token;
  return {{}, std::move(files), name};
}

/// The learnt stretches in bytes of the text.
Spans bytes_of(const PromptFormat& f, const Supervised& example) {
  std::vector<std::size_t> ends{0};
  for (const auto token : example.tokens) ends.push_back(ends.back() + f.tokenizer()->decode({&token, 1}, Tokenizer::Special::keep).size());
  Spans spans;
  for (const auto& [first, last] : example.learnt) spans.emplace_back(ends.at(std::size_t(first)), ends.at(std::size_t(last)));
  return spans;
}

TEST(AssistantTurns, AreThoseThatTransformersMarks) {
  ASSERT_GT(fixture().at("cases").size(), 40U);
  for (const auto& one : fixture().at("cases")) {
    SCOPED_TRACE(one.at("template").get<std::string>() + ", " + one.at("conversation").get<std::string>());
    const auto f = format_of(one.at("template"));
    const auto& with_tools = fixture().at("with_tools");
    const auto& messages = fixture().at("conversations").at(one.at("conversation").get<std::string>());
    Conversation talk{{messages.begin(), messages.end()}};
    if (std::find(with_tools.begin(), with_tools.end(), one.at("conversation")) != with_tools.end()) talk.variables["tools"] = fixture().at("tools");
    const auto example = f.supervised(talk);
    const auto text = one.at("text").get<std::string>();
    EXPECT_TRUE(text.starts_with(f.tokenizer()->decode(example.tokens, Tokenizer::Special::keep)));
    EXPECT_EQ(bytes_of(f, example), one.at("learnt").get<Spans>());
  }
}

/// Words that templates strip, cut at and take for marks of their own.
Conversation any_conversation() {
  static const std::vector<std::string> kPieces{"Yes", " ", "\n", "<think>\n", "</think>", "assistant", "[/INST]", "a", "<|im_start|>", "model\n", "\xC3\xBC"};
  const auto pieces = *rc::gen::container<std::vector<std::vector<std::string>>>(*rc::gen::inRange(1, 6),
                                                                                 rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kPieces)));
  Conversation talk;
  bool asked = *rc::gen::arbitrary<bool>();
  for (const auto& parts : pieces) {
    std::string words;
    for (const auto& part : parts) words += part;
    talk.messages.push_back(message(asked ? "user" : "assistant", words + "w"));
    asked = !asked;
  }
  return talk;
}

/// Other words change nothing of the text but the turn itself, and a turn ends where the rest of
/// the text begins.
TEST(AssistantTurns, NothingElseOfTheTextIsTheTurns) {
  for (const std::string name : {"thought_dropped", "stripped", "last_thought", "empty_thought", "own_ends"}) {
    const ChatTemplate chat(read_file(std::filesystem::path(ROLLCALL_LEARNT_TEMPLATES) / (name + ".jinja")), name);
    const RenderMessages render = [&](std::span<const Message> messages, bool open) {
      return chat.render({{"messages", Json(std::vector<Message>(messages.begin(), messages.end()))},
                          {"add_generation_prompt", open},
                          {"bos_token", "<s>"},
                          {"eos_token", "</s>"}});
    };
    EXPECT_TRUE(rc::check(name, [&] {
      const auto talk = any_conversation();
      const std::string text = render(talk.messages, false);
      std::size_t done = 0;
      for (const AssistantTurn& turn : assistant_turns(text, talk.messages, {"<|im_start|>assistant\n", {}}, render)) {
        RC_ASSERT(done <= turn.begin);
        RC_ASSERT(turn.begin <= turn.words);
        RC_ASSERT(turn.words <= turn.end);
        RC_ASSERT(turn.end <= turn.tail);
        RC_ASSERT(turn.tail <= text.size());
        auto other = talk.messages;
        other[turn.message]["content"] = "Other";
        const std::string changed = render(other, false);
        RC_ASSERT(changed.ends_with("Other" + text.substr(turn.words)));
        done = turn.end;
      }
    }));
  }
}

TEST(AssistantTurns, WhatCannotBeToldIsRefusedByItsReason) {
  const auto refusal = [](const char* source) -> std::string {
    const ChatTemplate chat(source, "t");
    const RenderMessages render = [&](std::span<const Message> messages, bool) {
      return chat.render({{"messages", Json(std::vector<Message>(messages.begin(), messages.end()))}});
    };
    const std::vector<Message> messages{message("user", "a"), message("assistant", "bcd"), message("user", "e")};
    try {
      assistant_turns(render(messages, false), messages, {}, render);
    } catch (const InputError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal("{% for m in messages %}{{ m.content if m.role == 'user' }}{% endfor %}").find("\"bcd\", is not in the text"), std::string::npos);
  EXPECT_NE(refusal("{% for m in messages %}{{ m.content }}{% endfor %}{{ messages[1].content | length }}").find("\"bcd\", changes what"), std::string::npos);
  EXPECT_EQ(refusal("{% for m in messages %}{{ m.content }}{% endfor %}"), "accepted");
}

}  // namespace
}  // namespace rollcall::text
