// What of a conversation is learnt, against what transformers' generation marks say, and by what
// must hold for every template and conversation.
#include "text/chat/assistant_turns.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "support/spelling_tokenizer.hpp"
#include "text/chat/prompt_format.hpp"

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
  files.tokenizer =
      std::make_shared<Spelling>(fixture().at("special").at(name).get<std::vector<std::string>>());
  files.chat_template =
      read_file(std::filesystem::path(ROLLCALL_LEARNT_TEMPLATES) / (name + ".jinja"));
  for (const auto& [key, token] : fixture().at("variables").items())
    files.special_tokens[key] = token;
  return {{}, std::move(files), name};
}

/// The learnt stretches in bytes of the text.
Spans bytes_of(const PromptFormat& f, const Supervised& example) {
  std::vector<std::size_t> ends{0};
  for (const auto token : example.tokens)
    ends.push_back(ends.back() +
                   f.tokenizer()->decode({&token, 1}, Tokenizer::Special::keep).size());
  Spans spans;
  for (const auto& [first, last] : example.learnt)
    spans.emplace_back(ends.at(std::size_t(first)), ends.at(std::size_t(last)));
  return spans;
}

TEST(AssistantTurns, AreThoseThatTransformersMarks) {
  ASSERT_GT(fixture().at("cases").size(), 40U);
  for (const auto& one : fixture().at("cases")) {
    SCOPED_TRACE(one.at("template").get<std::string>() + ", " +
                 one.at("conversation").get<std::string>());
    const auto f = format_of(one.at("template"));
    const auto& with_tools = fixture().at("with_tools");
    const auto& messages =
        fixture().at("conversations").at(one.at("conversation").get<std::string>());
    Conversation talk{{messages.begin(), messages.end()}};
    if (std::find(with_tools.begin(), with_tools.end(), one.at("conversation")) != with_tools.end())
      talk.variables["tools"] = fixture().at("tools");
    const auto example = f.supervised(talk);
    const auto text = one.at("text").get<std::string>();
    EXPECT_TRUE(text.starts_with(f.tokenizer()->decode(example.tokens, Tokenizer::Special::keep)));
    EXPECT_EQ(bytes_of(f, example), one.at("learnt").get<Spans>());
  }
}

/// Words that templates strip, cut at and take for marks of their own.
Conversation any_conversation() {
  static const std::vector<std::string> kPieces{"Yes",          " ",         "\n",      "<think>\n",
                                                "</think>",     "assistant", "[/INST]", "a",
                                                "<|im_start|>", "model\n",   "\xC3\xBC"};
  const auto pieces = *rc::gen::container<std::vector<std::vector<std::string>>>(
      *rc::gen::inRange(1, 6),
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
  for (const std::string name :
       {"thought_dropped", "stripped", "last_thought", "empty_thought", "own_ends"}) {
    const ChatTemplate chat(
        read_file(std::filesystem::path(ROLLCALL_LEARNT_TEMPLATES) / (name + ".jinja")), name);
    const RenderMessages render = [&](std::span<const Message> messages, bool open) {
      return chat.render(
          {{"messages", Json(std::vector<Message>(messages.begin(), messages.end()))},
           {"add_generation_prompt", open},
           {"bos_token", "<s>"},
           {"eos_token", "</s>"}});
    };
    EXPECT_TRUE(rc::check(name, [&] {
      const auto talk = any_conversation();
      const std::string text = render(talk.messages, false);
      std::size_t done = 0;
      for (const AssistantTurn& turn :
           assistant_turns(text, talk.messages, {"<|im_start|>assistant\n", {}}, render)) {
        RC_ASSERT(done <= turn.begin);
        RC_ASSERT(turn.begin <= turn.words);
        RC_ASSERT(turn.words <= turn.end);
        RC_ASSERT(turn.end <= turn.tail);
        RC_ASSERT(turn.tail <= text.size());
        RC_ASSERT(turn.words <= turn.next);
        RC_ASSERT(turn.next <= turn.tail);
        auto other = talk.messages;
        other[turn.message]["content"] = "Other";
        const std::string changed = render(other, false);
        RC_ASSERT(changed.ends_with("Other" + text.substr(turn.words)));
        done = turn.end;
      }
    }));
  }
}

/// The learnt stretches with the roles as their heads.
std::vector<std::string> learnt_from(const char* source, const char* messages) {
  const ChatTemplate chat(source, "t");
  const auto list = parse_in_order(messages, "the test");
  const std::vector<Message> talk(list.begin(), list.end());
  const RenderMessages render = [&](std::span<const Message> some, bool open) {
    return chat.render({{"messages", Json(std::vector<Message>(some.begin(), some.end()))},
                        {"add_generation_prompt", open}});
  };
  const std::string text = render(talk, false);
  std::vector<std::string> learnt;
  for (const auto& turn : assistant_turns(text, talk, {"<assistant>", {}}, render))
    learnt.push_back(text.substr(turn.begin, turn.end - turn.begin));
  return learnt;
}

/// The results repeat the name of the function, and only the last turn shows its thought or, after
/// the results, what was said beside the call: counting marks would take a result for the turn's
/// own.
TEST(AssistantTurns, AToolsTextIsNotLearnt) {
  constexpr const char* kEchoes =
      "{% set ns = namespace(name='') %}{% for m in messages %}<{{ m.role }}>{% if m.role == 'tool' %}{{ ns.name }}={{ m.content }};{% else %}"
      "{% if m.thinking and loop.last %}({{ m.thinking }}){% endif %}{% for c in m.tool_calls or [] %}{% set ns.name = c.name %}call {{ c.name }}!{% endfor %}"
      "{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
  EXPECT_EQ(
      learnt_from(
          kEchoes,
          R"([{"role": "user", "content": "a"}, {"role": "assistant", "thinking": "t", "tool_calls": [{"name": "f"}]},
    {"role": "tool", "content": "f"}, {"role": "assistant", "content": "b"}])"),
      (std::vector<std::string>{"call f!", "b"}));
  constexpr const char* kSaysLast =
      "{% for m in messages %}{% if m.role != 'tool' %}<{{ m.role }}>{% for c in m.tool_calls or [] %}{{ c.name }}!{% if not loop.last or loop.index0 + 1 < messages | "
      "length %}{% for r in messages if r.role == 'tool' %}[{{ c.name }}={{ r.content }}]{% endfor %}{% endif %}{% endfor %}{{ m.content }}{% endif %}{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}";
  for (
      const auto& stretch : learnt_from(
          kSaysLast,
          R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "w", "tool_calls": [{"name": "f"}]},
    {"role": "tool", "content": "r"}, {"role": "assistant", "content": "b"}])"))
    EXPECT_EQ(stretch.find("r"), std::string::npos) << stretch;
}

/// DeepSeek-V3 shows neither words nor thought beside a second call, and another text after a
/// result
/// where the assistant is asked: the head of the call is what it says all the same.
TEST(AssistantTurns, TheHeadOfACallWithAThoughtIsLearnt) {
  constexpr const char* kCalls =
      "{% set ns = namespace(first=true) %}{% for m in messages %}{% if m.role == 'tool' %}<out>{{ m.content }}</out>{% elif m.tool_calls %}{% if ns.first %}"
      "<assistant>{% endif %}{% set ns.first = false %}<call>{{ m.tool_calls[0].name }}</call>{% else %}<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<outs>' if messages[-1].role == 'tool' else '<assistant>' }}{% endif %}";
  EXPECT_EQ(
      learnt_from(
          kCalls,
          R"([{"role": "user", "content": "a"}, {"role": "assistant", "thinking": "t", "tool_calls": [{"name": "f"}]},
    {"role": "tool", "content": "r"}, {"role": "assistant", "thinking": "u", "tool_calls": [{"name": "g"}]}, {"role": "tool", "content": "s"},
    {"role": "assistant", "content": "b"}])"),
      (std::vector<std::string>{"<call>f</call>", "<call>g</call>", "b"}));
}

/// gemma4 asks behind a result without a head and shows one there all the same.
TEST(AssistantTurns, AHeadThatIsShownWithoutBeingGivenIsNotLearnt) {
  constexpr const char* kShowsAHead =
      "{% for m in messages %}{% if m.role == 'tool' %}<out>{{ m.content }}</out>{% else %}<{{ m.role }}>{% if m.thinking and (loop.last or loop.index0 < 2) %}"
      "({{ m.thinking }}){% endif %}{% for c in m.tool_calls or [] %}<call>{{ c.name }}</call>{% endfor %}{{ m.content }}{% endif %}{% endfor %}"
      "{% if add_generation_prompt and messages[-1].role != 'tool' %}<assistant>{% endif %}";
  EXPECT_EQ(
      learnt_from(
          kShowsAHead,
          R"([{"role": "user", "content": "a"}, {"role": "assistant", "tool_calls": [{"name": "f"}]},
    {"role": "tool", "content": "r"}, {"role": "assistant", "content": "b"}])"),
      (std::vector<std::string>{"<call>f</call>", "b"}));
  // What the assistant says itself is its own, though it is spelt as a head is.
  EXPECT_EQ(
      learnt_from(
          kShowsAHead,
          R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "<assistant>b"}])"),
      (std::vector<std::string>{"<assistant>b"}));
}

/// The learnt stretches as tokens, of which `special` are special and the first ends an answer.
std::vector<std::string> learnt_tokens(const std::vector<std::string>& special,
                                       const std::string& source, const std::string& messages) {
  TextFiles files;
  files.tokenizer = std::make_shared<Spelling>(special);
  files.chat_template = source;
  const PromptFormat f({}, std::move(files), "the test");
  const auto list = parse_in_order(messages, "the test");
  const auto example = f.supervised({{list.begin(), list.end()}});
  const std::string text = f.tokenizer()->decode(example.tokens, Tokenizer::Special::keep);
  std::vector<std::string> learnt;
  for (const auto& [first, last] : bytes_of(f, example))
    learnt.push_back(text.substr(first, last - first));
  return learnt;
}

/// What begins a result belongs to the result, and what begins the next turn to that one, though no
/// end token stands before it.
TEST(AssistantTurns, TheNextSpeakersHeadIsNotLearnt) {
  using Stretches = std::vector<std::string>;
  const std::vector<std::string> special{"<end>", "<turn>", "<out>", "</out>", "<call>"};
  const std::string call =
      R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "w", "tool_calls": [{"name": "f"}]})";
  const std::string
      last = call + "]",
      answered =
          call + R"(, {"role": "tool", "content": "3"}, {"role": "assistant", "content": "c"}])";
  const std::string asked = "{% if add_generation_prompt %}<turn>assistant|{% endif %}";
  // gemma4: the place of a result is opened behind each call.
  const std::string opens =
      "{% for m in messages %}{% if m.role == 'tool' %}{% if not loop.previtem.tool_calls %}<out>{% endif %}{{ m.content }}</out>{% else %}<turn>{{ m.role }}|"
      "{{ m.content }}{% for c in m.tool_calls or [] %}({{ c.name }})<out>{% else %}<end>{% endfor %}{% endif %}{% endfor %}";
  EXPECT_EQ(learnt_tokens(special, opens + asked, answered), (Stretches{"w(f)", "c<end>"}));
  EXPECT_EQ(learnt_tokens(special, opens + asked, last), Stretches{"w(f)<end>"});
  // gpt-oss where its end of a call is no end token, and where nothing ends a call.
  for (const std::string end : {"<call>", ""}) {
    const std::string turns =
        "{% for m in messages %}<turn>{{ m.role }}|{{ m.content }}{% for c in m.tool_calls or [] %}({{ c.name }})" +
        end + "{% else %}<end>{% endfor %}{% endfor %}";
    EXPECT_EQ(learnt_tokens(special, turns + asked, answered), (Stretches{"w(f)" + end, "c<end>"}));
  }
}

TEST(AssistantTurns, WhatCannotBeToldIsRefusedByItsReason) {
  const auto refusal = [](const char* source) -> std::string {
    const ChatTemplate chat(source, "t");
    const RenderMessages render = [&](std::span<const Message> messages, bool) {
      return chat.render(
          {{"messages", Json(std::vector<Message>(messages.begin(), messages.end()))}});
    };
    const std::vector<Message> messages{message("user", "a"), message("assistant", "bcd"),
                                        message("user", "e")};
    try {
      assistant_turns(render(messages, false), messages, {}, render);
    } catch (const InputError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal("{% for m in messages %}{{ m.content if m.role == 'user' }}{% endfor %}")
                .find("\"bcd\", is not in the text"),
            std::string::npos);
  EXPECT_NE(
      refusal(
          "{% for m in messages %}{{ m.content }}{% endfor %}{{ messages[1].content | length }}")
          .find("\"bcd\", changes what"),
      std::string::npos);
  EXPECT_EQ(refusal("{% for m in messages %}{{ m.content }}{% endfor %}"), "accepted");
}

}  // namespace
}  // namespace rollcall::text
