// Prompts, worked answers and conversations as tokens, against texts and masks written out by hand.
#include "text/chat/prompt_format.hpp"

#include "base/errors/error.hpp"
#include "support/spelling_tokenizer.hpp"
#include "support/temporary_folder.hpp"
#include "text/chat/conversation.hpp"
#include "text/chat/prompt_conversation.hpp"

#include <gtest/gtest.h>

namespace rollcall::text {
namespace {

using rollcall::testing::TemporaryFolder;

constexpr const char* kTemplate =
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}<end>\n{% endfor %}{% if add_generation_prompt %}<assistant>{% if mood is defined "
    "and mood %}(calm){% endif %}{% endif %}";

/// A byte tokenizer whose end token is spelt <end>, as a tokenizer.json of a chat model spells its
/// own.
struct Marked : Spelling {
  Marked() : Spelling({"<end>"}) {}
};

PromptFormat format(const TextSection& section, const std::string& chat_template = kTemplate) {
  TextFiles files;
  files.tokenizer = std::make_shared<Marked>();
  files.chat_template = chat_template;
  return {section, std::move(files), "the test"};
}

TextSection section(const std::string& user = "{prompt}", const std::string& system = {}) {
  TextSection s;
  s.user = user, s.system = system;
  return s;
}

/// The text of the tokens, what is learnt in brackets.
std::string marked_text(const Supervised& example) {
  std::string text;
  std::size_t at = 0;
  const auto decode = [&](std::size_t end) {
    std::string part =
        Marked().decode(std::span(example.tokens).subspan(at, end - at), Tokenizer::Special::keep);
    at = end;
    return part;
  };
  for (const auto& [first, last] : example.learnt) {
    text += decode(std::size_t(first)) + "[";
    text += decode(std::size_t(last)) + "]";
  }
  text += decode(example.tokens.size());
  return text;
}

TEST(PromptFormat, BuiltInTokenizersKeepTheTasksOwnText) {
  const PromptFormat f(TextSection{}, std::filesystem::path());
  EXPECT_EQ(f.section().tokenizer, "character");
  EXPECT_EQ(f.section().chat_template, "none");
  const auto character = make_tokenizer("character");
  EXPECT_EQ(f.prompt_tokens("12+5=\n"), character->encode_sequence("12+5=\n"));
  auto example = character->encode_sequence("12+5=");
  const auto first = std::int64_t(example.size());
  for (const auto token : character->encode("17")) example.push_back(token);
  example.push_back(character->eos());
  EXPECT_EQ(f.supervised("12+5=", "17").tokens, example);
  EXPECT_EQ(f.supervised("12+5=", "17").learnt,
            (std::vector<std::pair<std::int64_t, std::int64_t>>{{first, first + 3}}));
  EXPECT_EQ(f.files().end_tokens, std::vector<std::int32_t>{character->eos()});
  EXPECT_EQ(f.fingerprint(), "");
}

TEST(PromptFormat, PutsATasksPromptThroughTheTemplate) {
  const auto f = format(section("{prompt}\nAnswer with the number only.", "Be brief."));
  EXPECT_TRUE(f.is_chat());
  EXPECT_EQ(
      f.prompt_text(" What is 1 + 2?\n"),
      "<system>Be brief.<end>\n<user>What is 1 + 2?\nAnswer with the number only.<end>\n<assistant>");
  // no beginning-of-sequence but the template's own
  EXPECT_EQ(f.prompt_tokens("x"), Marked().encode(f.prompt_text("x")));
  EXPECT_EQ(marked_text(format(section()).supervised("1+2", "3")),
            "<user>1+2<end>\n<assistant>[3<end>]");
}

TEST(PromptFormat, GivesTheAnswersBeginningWithThePrompt) {
  TextSection s = section();
  s.assistant_prefix = "It is ";
  EXPECT_EQ(marked_text(format(s).supervised("1+2", "3")),
            "<user>1+2<end>\n<assistant>It is [3<end>]");
  EXPECT_EQ(marked_text(format(s).supervised("1+2", "3", "<think>")),
            "<user>1+2<end>\n<assistant>It is <think>[3<end>]");
  EXPECT_EQ(format(s).prompt_tokens("1+2", "<think>"),
            Marked().encode("<user>1+2<end>\n<assistant>It is <think>"));
  s.chat_template = "none";
  EXPECT_EQ(format(s).prompt_text("1+2"), "1+2It is ");
  EXPECT_EQ(format(s).prompt_tokens("1").front(), Spelling::kBegin);
}

TEST(PromptFormat, HandsVariablesToTheTemplate) {
  TextSection s = section();
  s.variables = {{"mood", "true"}};
  EXPECT_EQ(format(s).prompt_text("a"), "<user>a<end>\n<assistant>(calm)");
  s.variables = {{"mood", "false"}};
  EXPECT_EQ(format(s).prompt_text("a"), "<user>a<end>\n<assistant>");
}

TEST(PromptFormat, VariablesKeepTheirType) {
  const char* typed =
      "{% for m in messages %}{{ m.content }}<end>{% endfor %}{{ version }}{{ version is string }}";
  TextSection s = section();
  s.variables = {{"version", "\"1.10\""}};
  EXPECT_EQ(format(s, typed).prompt_text(""), "<end>1.10True");
  s.variables = {{"version", "1.10"}};
  EXPECT_EQ(format(s, typed).prompt_text(""), "<end>1.1False");
}

TEST(PromptFormat, EndsAnAnswerWithEosWhereTheTemplateDoesNot) {
  const auto f = format(
      section(),
      "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}");
  EXPECT_EQ(marked_text(f.supervised("1+2", "3")), "user: 1+2\nassistant: [3<end>]");
}

Conversation talk(const std::vector<std::pair<std::string, std::string>>& said) {
  Conversation made;
  for (const auto& [role, content] : said) made.messages.push_back(message(role, content));
  return made;
}

const Conversation kTalk =
    talk({{"system", "S"}, {"user", "a"}, {"assistant", "b"}, {"user", "b?"}, {"assistant", "c"}});
const Conversation kWithoutSystem =
    talk({{"user", "a"}, {"assistant", "b"}, {"user", "b?"}, {"assistant", "c"}});

TEST(PromptFormat, LearnsWhatTheAssistantSaysAndNothingElse) {
  EXPECT_EQ(
      marked_text(format(section()).supervised(kTalk)),
      "<system>S<end>\n<user>a<end>\n<assistant>[b<end>]\n<user>b?<end>\n<assistant>[c<end>]");
  EXPECT_EQ(
      marked_text(
          format(section("{prompt}", "T")).supervised(talk({{"user", "a"}, {"assistant", "b"}}))),
      "<system>T<end>\n<user>a<end>\n<assistant>[b<end>]");
}

TEST(PromptFormat, FindsAnswersWhereATemplateShowsPastTurnsOtherwise) {
  // Past user turns are shown in brackets of their own, so that no earlier prompt is the beginning
  // of the whole.
  const auto f = format(
      section(),
      "{% for m in messages %}<{{ m.role }}>{% if m.role == 'user' and not loop.last %}past: {% endif %}{{ m.content }}<end>\n{% endfor %}{% if "
      "add_generation_prompt %}<assistant>{% endif %}");
  EXPECT_EQ(marked_text(f.supervised(kWithoutSystem)),
            "<user>past: a<end>\n<assistant>[b<end>]\n<user>past: b?<end>\n<assistant>[c<end>]");
}

TEST(PromptFormat, GivesTheBeginningOfEveryAnswerOfAConversation) {
  TextSection s = section();
  s.assistant_prefix = "It is ";
  EXPECT_EQ(marked_text(format(s).supervised(talk(
                {{"user", "a"}, {"assistant", "b"}, {"user", "c"}, {"assistant", "It is d"}}))),
            "<user>a<end>\n<assistant>It is [b<end>]\n<user>c<end>\n<assistant>It is [d<end>]");
}

template <class E, class F>
std::string refusal(const F& what) {
  try {
    what();
  } catch (const E& e) {
    return e.what();
  }
  return "accepted";
}

/// A template that leaves out the first answer: its words stand in the next question too, which the
/// assistant did not say.
TEST(PromptFormat, TakesNobodyElsesWordsForAnAnswer) {
  const auto f = format(
      section(),
      "{% for m in messages %}<{{ m.role }}>{% if m.role == 'user' or loop.last %}{{ m.content }}{% endif %}<end>\n{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}");
  EXPECT_NE(refusal<InputError>([&] {
              f.supervised(kWithoutSystem);
            }).find("message 2 of a conversation, \"b\""),
            std::string::npos);
}

/// What is encoded grows with the conversation, not with its square.
TEST(PromptFormat, EncodesALongConversationInPieces) {
  struct Counting final : Marked {
    mutable std::size_t bytes = 0;
    std::vector<std::int32_t> encode(std::string_view text) const override {
      bytes += text.size();
      return Marked::encode(text);
    }
  };
  const auto tokenizer = std::make_shared<Counting>();
  TextFiles files;
  files.tokenizer = tokenizer, files.chat_template = kTemplate;
  const PromptFormat f(section(), std::move(files), "the test");
  Conversation talk;
  for (int i = 0; i < 100; ++i)
    talk.messages.push_back(message(i % 2 == 0 ? "user" : "assistant", std::string(100, 'x')));
  tokenizer->bytes = 0;
  const auto tokens = f.supervised(talk).tokens;
  EXPECT_LT(tokenizer->bytes, 10 * tokens.size());
}

TEST(PromptFormat, RefusesByName) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const auto upper =
      format(section(), "{% for m in messages %}{{ m.content | upper }}<end>{% endfor %}Yes");
  has(refusal<InputError>([&] {
        upper.supervised(talk({{"user", "a"}, {"assistant", "abc"}}));
      }),
      "message 2 of a conversation, \"abc\"");
  has(refusal<InputError>([&] { format(section(), "").supervised(kTalk); }), "no chat template");
  has(refusal<ConfigError>([&] { format(section("{prompt}", "S"), ""); }), "text.system is set");
  TextSection s = section();
  s.chat_template = "model";
  has(refusal<ConfigError>([&] { format(s, ""); }), "has no chat template");
  const TemporaryFolder folder;
  folder.write("tokenizer.json", "{}");
  for (const char* name : {"character", "byte"}) {
    s.tokenizer = name;
    has(refusal<ConfigError>([&] { PromptFormat(s, folder.path()); }), "holds a tokenizer.json");
  }
  s.tokenizer = "model";
  has(refusal<ConfigError>([&] { PromptFormat(s, std::filesystem::path()); }),
      "no model folder is named");
}

// What an answer is.

PromptFormat with_specials(const std::vector<std::string>& special,
                           const std::string& chat_template = kTemplate,
                           const TextSection& s = section()) {
  TextFiles files;
  files.tokenizer = std::make_shared<Spelling>(special);
  files.chat_template = chat_template;
  return {s, std::move(files), "the test"};
}

TEST(PromptFormat, OnlyTheEndTokenIsDroppedFromAnAnswer) {
  const std::vector<std::string> special{"<end>", "<think>", "</think>", "<answer>", "</answer>"};
  const auto f = with_specials(special);
  const std::string said = "<think>12</think><answer>12</answer>";
  EXPECT_EQ(f.answer_text(f.tokenizer()->encode(said + "<end>")), said);
  EXPECT_EQ(f.answer_text(f.tokenizer()->encode(said)), said);
  EXPECT_EQ(f.answer_text(f.tokenizer()->encode("1<end>2<end>")), "1<end>2");
}

TEST(PromptFormat, SpecialTokensThatNoTextCanSpellStayOut) {
  const PromptFormat f(TextSection{}, std::filesystem::path());
  const auto character = make_tokenizer("character");
  auto tokens = character->encode_sequence("12");
  tokens.push_back(character->eos());
  EXPECT_EQ(f.answer_text(tokens), "12");
}

/// A base model's end token with a template that ends turns otherwise.
TEST(PromptFormat, TellsOfATurnsEndThatIsNoEndToken) {
  const auto f = with_specials({"<eos>", "<end>"});
  EXPECT_EQ(f.answer_ends().unknown_end(), "<end>");
  EXPECT_NE(f.answer_ends().missing_end({}).find("sampling.stop=[\"<end>\"]"), std::string::npos)
      << f.answer_ends().missing_end({});
  EXPECT_NE(f.answer_ends().missing_end({}).find("(301)"), std::string::npos)
      << f.answer_ends().missing_end({});
  EXPECT_EQ(f.answer_ends().missing_end({"x", "<end>"}), "");
  EXPECT_EQ(with_specials({"<end>", "<eos>"}).answer_ends().missing_end({}), "");
  EXPECT_EQ(with_specials({"<eos>"}).answer_ends().missing_end({}), "")
      << "what is no token of its own ends no turn";
  EXPECT_EQ(f.answer_text(f.tokenizer()->encode("7<end>")), "7")
      << "what the run stops at by sampling.stop is no part of the answer";
}

std::string learnt_text(const PromptFormat& f, const Supervised& example) {
  std::string text;
  for (const auto& [first, last] : example.learnt) {
    text += '[';
    text += f.tokenizer()->decode(
        std::span(example.tokens).subspan(std::size_t(first), std::size_t(last - first)),
        Tokenizer::Special::keep);
    text += ']';
  }
  return text;
}

TEST(PromptFormat, LearnsEachTurnWithItsOwnEnd) {
  const auto f = with_specials({"<eos>", "<end>"});
  EXPECT_EQ(learnt_text(f, f.supervised(kTalk)), "[b<end>][c<end>]");
  EXPECT_EQ(learnt_text(f, f.supervised("1+2", "3")), "[3<end>]");
  // What begins the next turn ends none.
  const auto open = with_specials(
      {"<eos>", "<user>", "<assistant>"},
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}");
  EXPECT_EQ(open.answer_ends().missing_end({}), "");
  EXPECT_EQ(learnt_text(open, open.supervised(kWithoutSystem)), "[b][c<eos>]");
}

// Messages whole.

constexpr const char* kToolTemplate =
    "{% if tools %}<tools>{{ tools | tojson }}{% endif %}{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content %}({{ m.reasoning_content }}){% endif %}"
    "{% if m.content is string %}{{ m.content }}{% else %}{% for part in m.content or [] %}{{ part.text }}{% endfor %}{% endif %}{% for c in m.tool_calls or [] %}"
    "CALL {{ c.function.name }} {{ c.function.arguments | tojson }};{% endfor %}{% if m.tool_call_id %} of {{ m.tool_call_id }}{% endif %}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

Conversation whole(const char* messages, const char* variables = "{}") {
  const auto list = parse_in_order(messages, "the test");
  return {{list.begin(), list.end()}, parse_in_order(variables, "the test")};
}

TEST(PromptFormat, MessagesReachTheTemplateWhole) {
  const auto f = format(section(), kToolTemplate);
  const char* messages =
      R"([{"role": "user", "content": [{"type": "text", "text": "w"}, {"type": "text", "text": "?"}]},
    {"role": "assistant", "reasoning_content": "hm", "content": null, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"z": 1, "a": "x"}}}]},
    {"role": "tool", "tool_call_id": "1", "content": "3"}, {"role": "assistant", "content": [{"type": "text", "text": "three"}]}])";
  EXPECT_EQ(
      marked_text(f.supervised(whole(messages, R"({"tools": [{"b": 1, "a": 2}]})"))),
      "<tools>[{\"b\": 1, \"a\": 2}]<user>w?<end>\n<assistant>[(hm)CALL f {\"z\": 1, \"a\": \"x\"};<end>]\n<tool>3 of 1<end>\n<assistant>[three<end>]");
}

/// A special token after a function's name belongs to the call where no end token closes it.
TEST(PromptFormat, ACallIsLearntUpToItsOwnEnd) {
  const auto f = with_specials(
      {"<end>", "<chan>", "<call>"},
      "{% for m in messages %}<{{ m.role }}>{% for c in m.tool_calls or [] %} to={{ c.name }}<chan>{{ c.arguments }}<call>{% else %}"
      "{{ m.content }}<end>{% endfor %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}");
  const auto talk = whole(
      R"([{"role": "user", "content": "a"}, {"role": "assistant", "tool_calls": [{"name": "f", "arguments": "7"}]},
    {"role": "tool", "content": "b"}, {"role": "assistant", "content": "c"}])");
  EXPECT_EQ(learnt_text(f, f.supervised(talk)), "[ to=f<chan>7<call>][c<end>]");
  // ChatML on a base model, whose end token is another: what begins the next turn is not learnt.
  const auto foreign = with_specials(
      {"<eos>", "<im_end>", "<im_start>"},
      "{% for m in messages %}<im_start>{{ m.role }}|{% for c in m.tool_calls or [] %}({{ c.name }}){% else %}{{ m.content }}"
      "{% endfor %}<im_end>|{% endfor %}{% if add_generation_prompt %}<im_start>assistant|{% endif %}");
  EXPECT_EQ(foreign.answer_ends().unknown_end(), "<im_end>");
  EXPECT_EQ(learnt_text(foreign, foreign.supervised(talk)), "[(f)<im_end>][c<im_end>]");
}

/// idefics3, llava_next and others of models that see images.
TEST(PromptFormat, TemplatesThatReadPartsAloneGetParts) {
  const auto f = format(
      section(),
      "{% for m in messages %}<{{ m.role }}>{% for part in m.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}<end>"
      "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}");
  EXPECT_EQ(f.prompt_text("1+2"), "<user>1+2<end><assistant>");
  EXPECT_EQ(marked_text(f.supervised(talk({{"user", "a"}, {"assistant", "b"}}))),
            "<user>a<end><assistant>[b<end>]");
  EXPECT_EQ(
      marked_text(f.supervised(whole(
          R"([{"role": "user", "content": [{"type": "text", "text": "a"}]}, {"role": "assistant", "content": "b"}])"))),
      "<user>a<end><assistant>[b<end>]");
}

TEST(PromptFormat, ThoughtsReachTheTemplateUnderEveryName) {
  const auto f = format(
      section(),
      "{% for m in messages %}<{{ m.role }}>{{ m.thinking }}|{{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}");
  const auto talk = whole(
      R"([{"role": "user", "content": "a"}, {"role": "assistant", "reasoning": "t", "content": "b"}])");
  EXPECT_EQ(marked_text(f.supervised(talk)), "<user>|a<end><assistant>[t|b<end>]");
  EXPECT_TRUE(f.conversations().reads(talk, "reasoning", true));
}

TEST(PromptFormat, AVariableThatTheTemplateDoesNotMentionIsToldWithTheNearest) {
  TextSection s = section();
  s.variables.emplace_back("enable_thinking", "false");
  const std::string reads = "{% if enable_thinking %}x{% endif %}" + std::string(kTemplate);
  EXPECT_EQ(unread_variable(format(s, reads)), "");
  s.variables.emplace_back("enable_thinkng", "false");
  const std::string told = unread_variable(format(s, reads));
  EXPECT_NE(told.find("text.variables.enable_thinkng"), std::string::npos) << told;
  EXPECT_NE(told.find("did you mean enable_thinking?"), std::string::npos) << told;
}

TEST(PromptFormat, KnowsWhichKeysTheTemplateReads) {
  const auto f = format(section(), kToolTemplate);
  const auto talk = whole(
      R"([{"role": "user", "content": "a", "name": "Eve"}, {"role": "tool", "content": "b", "tool_call_id": "1"}, {"role": "assistant", "content": "c"}])",
      R"({"tools": [1], "enable_thinking": false})");
  EXPECT_TRUE(f.conversations().reads(talk, "tool_call_id", true));
  EXPECT_FALSE(f.conversations().reads(talk, "name", true));
  EXPECT_TRUE(f.conversations().reads(talk, "tools", false));
  EXPECT_FALSE(f.conversations().reads(talk, "enable_thinking", false));
  const auto twice = whole(
      R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "c", "thinking": "t", "reasoning_content": "t"}])");
  EXPECT_TRUE(f.conversations().reads(twice, "reasoning_content", true))
      << "thinking takes its place";
  EXPECT_TRUE(f.conversations().reads(twice, "thinking", true));
  const auto apart = whole(
      R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "c", "thinking": "t", "reasoning_content": "u"}])");
  EXPECT_TRUE(f.conversations().reads(apart, "reasoning_content", true));
  EXPECT_FALSE(f.conversations().reads(apart, "thinking", true));
}

/// What a setting is by default says nothing of whether it is read.
TEST(PromptFormat, AKeyIsReadIfAnotherValueOfItShows) {
  const auto f = format(
      section(),
      "{% for m in messages %}<{{ m.role }}{{ m.name or 'x' }}>{{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<assistantx>"
      "{% if enable_thinking is defined and not enable_thinking %}(no){% endif %}{% endif %}");
  const auto talk = whole(
      R"([{"role": "user", "content": "a", "name": "x"}, {"role": "assistant", "content": "b"}])",
      R"({"enable_thinking": true, "mood": 1})");
  EXPECT_TRUE(f.conversations().reads(talk, "enable_thinking", false));
  EXPECT_TRUE(f.conversations().reads(talk, "name", true));
  EXPECT_FALSE(f.conversations().reads(talk, "mood", false));
}

TEST(PromptFormat, ConversationsWithToolsTakeTheTemplateForTools) {
  TextFiles files;
  files.tokenizer = std::make_shared<Marked>();
  files.chat_template = kTemplate, files.tool_template = kToolTemplate;
  const PromptFormat f(section(), std::move(files), "the test");
  EXPECT_EQ(marked_text(f.supervised(whole(
                R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])",
                R"({"tools": [1]})"))),
            "<tools>[1]<user>a<end>\n<assistant>[b<end>]");
  EXPECT_EQ(marked_text(f.supervised(talk({{"user", "a"}, {"assistant", "b"}}))),
            "<user>a<end>\n<assistant>[b<end>]");
}

TEST(PromptFormat, TemplatesMayComeFromAFile) {
  const TemporaryFolder folder;
  TextSection s = section();
  s.tokenizer = "byte";
  s.chat_template = folder.write("chat.jinja", kTemplate);
  const PromptFormat f(s, std::filesystem::path());
  EXPECT_EQ(f.prompt_text("a"), "<user>a<end>\n<assistant>");
  EXPECT_EQ(f.supervised("a", "b").tokens.back(), f.tokenizer()->eos());
  EXPECT_NE(f.fingerprint(), "");
}

TEST(PromptFormat, ItsFingerprintChangesWithWhatAPromptIsMadeOf) {
  const auto one = format(section()).fingerprint();
  EXPECT_EQ(format(section()).fingerprint(), one);
  EXPECT_NE(format(section("{prompt}", "S")).fingerprint(), one);
  EXPECT_NE(format(section(), std::string(kTemplate) + "{# #}").fingerprint(), one);
  TextSection s = section();
  s.variables = {{"mood", "true"}};
  EXPECT_NE(format(s).fingerprint(), one);
}

TEST(PromptFormat, SaysWhatTheModelsMakersSuggestOtherwise) {
  SamplingParams here;
  EXPECT_EQ(differing_suggestion({}, here), "");
  SuggestedSampling theirs;
  theirs.temperature = 0.6, theirs.top_p = 1.0, theirs.top_k = 20;
  EXPECT_EQ(differing_suggestion(theirs, here), "temperature 0.6 (here 1), top_k 20 (here 0)");
  theirs.do_sample = false;
  EXPECT_EQ(differing_suggestion(theirs, here), "greedy answers (here temperature 1)");
}

TEST(PromptFormat, APromptMayHaveAConversation) {
  Prompt prompt;
  prompt.text = "be brief\n\nuser: 1+1\n\nassistant: 2\n\nuser: 2+2\n";
  prompt.conversation =
      written_conversation({{message("system", "be brief"), message("user", "1+1"),
                             message("assistant", "2"), message("user", " 2+2 ")},
                            Message{{"mood", true}}});
  const PromptFormat f = format(section("{prompt}?", "be long"));
  const std::string shown =
      "<system>be brief<end>\n<user>1+1<end>\n<assistant>2<end>\n<user>2+2?<end>\n<assistant>(calm)";
  EXPECT_EQ(f.prompt_text(prompt), shown)
      << "its own system message counts, and text.user is about what is said last";
  EXPECT_EQ(f.prompt_tokens(prompt), f.tokenizer()->encode(shown));
  EXPECT_EQ(f.supervised(prompt, "4").learnt.front().first,
            std::int64_t(f.prompt_tokens(prompt).size()));
  TextSection plain;
  plain.chat_template = "none";
  EXPECT_EQ(format(plain, "").prompt_text(prompt), prompt.text) << "in words without a template";
  EXPECT_EQ(in_words(read_conversation(prompt.conversation)) + "\n", prompt.text);
  EXPECT_EQ(in_words({{message("system", "be brief"), message("user", "1+1")}}), "be brief\n\n1+1");
  const std::string asked = asked_last(
      prompt.conversation, [](std::string_view said) { return std::string(said) + "!"; });
  prompt.conversation = asked;
  EXPECT_NE(f.prompt_text(prompt).find("2+2 !?"), std::string::npos);
  prompt.conversation = "{\"messages\": 7}";
  EXPECT_THROW(f.prompt_text(prompt), InputError);
}

}  // namespace
}  // namespace rollcall::text
