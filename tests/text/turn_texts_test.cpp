// What stands between two turns: the tokens of a conversation are those that were given, sampled
// and told, and they are the template's own; templates that show a turn otherwise are refused.
#include "text/chat/turn_texts.hpp"

#include "base/errors/error.hpp"
#include "support/spelling_tokenizer.hpp"
#include "text/chat/conversation.hpp"
#include "text/chat/tool_calls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

namespace rollcall::text {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Tokens = std::vector<std::int32_t>;

constexpr const char* kTools =
    R"([{"type": "function", "function": {"name": "calculator", "description": "Computes",
         "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}}}}])";

std::string read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}
std::filesystem::path shared_templates() {
  return std::filesystem::path(ROLLCALL_SHARED_TOKENIZERS).parent_path() / "chat_templates";
}
std::string family(const char* name) {
  return read_file(std::filesystem::path(ROLLCALL_TEMPLATE_FAMILIES) / name);
}

/// A template with the special tokens that it writes, the one that ends an answer first.
PromptFormat format_of(const std::string& chat_template, const TextSection& section = {}) {
  std::vector<std::string> special{"<|im_end|>", "<|im_start|>"};
  if (chat_template.find("<|eot_id|>") != std::string::npos)
    special = {"<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|begin_of_text|>"};
  if (chat_template.find("<end_of_turn>") != std::string::npos)
    special = {"<end_of_turn>", "<start_of_turn>"};
  TextFiles files;
  files.tokenizer = std::make_shared<Spelling>(special);
  files.chat_template = chat_template;
  files.special_tokens = {{"bos_token", "<|begin_of_text|>"}};
  return {section, std::move(files), "the test"};
}

void append(Tokens& all, const Tokens& more) { all.insert(all.end(), more.begin(), more.end()); }

/// What the policy samples, closed by the token that ends an answer.
Tokens sampled(const PromptFormat& format, const std::string& text) {
  Tokens tokens = format.tokenizer()->encode(text);
  tokens.push_back(format.tokenizer()->eos());
  return tokens;
}

std::string call_of(CallForm form) {
  return form == CallForm::llama
             ? R"({"name": "calculator", "parameters": {"expression": "12 * 12"}})"
             : "<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"12 * "
               "12\"}}\n</tool_call>";
}

/// A question, two turns that are answered, the second one by two messages, and the beginning of a
/// third turn: what was given, sampled and told is what the template makes of all of it.
void expect_own_tokens(const PromptFormat& format, const std::string& role,
                       const std::string& tools, const std::string& call,
                       const std::string& thought) {
  const TurnTexts texts(format, role, tools);
  Conversation talk{{message("user", "What is 12 * 12?")}};
  if (!tools.empty()) talk.variables["tools"] = Message::parse(tools);
  Tokens all = format.chat_tokens(talk);
  const auto answer = [&](const std::string& text, const std::vector<std::string>& told) {
    const Tokens turn = sampled(format, text);
    EXPECT_EQ(texts.action_text(turn), text);
    append(all, turn);
    std::vector<Said> messages;
    for (const std::string& said : told) messages.push_back({role, said});
    append(all, texts.between(turn, messages));
    talk.messages.push_back(message("assistant", text));
    for (const std::string& said : told) talk.messages.push_back(message(role, said));
  };
  answer(call, {"144"});
  answer(thought + "So it is. " + call, {"a \"quoted\" line\n\tand another\\", "  spaces <b>  "});
  EXPECT_EQ(format.tokenizer()->decode(all, Tokenizer::Special::spelt),
            format.tokenizer()->decode(format.chat_tokens(talk), Tokenizer::Special::spelt));
  EXPECT_EQ(all, format.chat_tokens(talk));
}

TEST(TurnTexts, ConversationsAreTheTemplatesOwnTokens) {
  const std::string thought = "<think>\nHm.\n</think>\n\n";
  const PromptFormat plain = format_of(family("chatml_plain.jinja"));
  for (const char* role : {"user", "tool"}) expect_own_tokens(plain, role, "", "144?", thought);
  const PromptFormat last_query = format_of(family("last_query.jinja"));
  expect_own_tokens(last_query, "tool", "", call_of(CallForm::hermes), thought);
  const PromptFormat with_tools =
      format_of("{% if tools %}{{ tools | tojson }}{% endif %}" + family("last_query.jinja"));
  expect_own_tokens(with_tools, "tool", kTools, call_of(CallForm::hermes), thought);
}

TEST(TurnTexts, ConversationsAreTheOwnTokensOfRealTemplates) {
  if (!std::filesystem::is_directory(shared_templates()))
    GTEST_SKIP() << shared_templates() << " is not there";
  const std::string thought = "<think>\nHm.\n</think>\n\n";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared_templates())) {
    SCOPED_TRACE(entry.path().string());
    const PromptFormat format = format_of(read_file(entry.path()));
    const CallForm form = call_form(format.conversations());
    const bool is_llama = entry.path().filename().string().find("lama") != std::string::npos;
    EXPECT_EQ(form, is_llama ? CallForm::llama : CallForm::hermes);
    for (const char* tools : {"", kTools}) {
      expect_own_tokens(format, "tool", tools, call_of(form), thought);
      if (entry.path().filename().string().find("Qwen3") == std::string::npos)
        expect_own_tokens(format, "user", tools, call_of(form), thought);
    }
    ++count;
  }
  EXPECT_GE(count, 3);
}

std::string refusal(const PromptFormat& format, const std::string& role,
                    const std::string& tools = {}) {
  try {
    TurnTexts(format, role, tools);
    return "accepted";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(TurnTexts, TemplatesThatShowATurnInAnotherWayAreRefused) {
  const std::string thoughts = family("last_query.jinja");
  EXPECT_THAT(refusal(format_of(thoughts), "user"),
              AllOf(HasSubstr("role user"), HasSubstr("it drops the thought"),
                    HasSubstr("set environment.role=tool")));
  EXPECT_EQ(refusal(format_of(thoughts), "tool"), "accepted");
  const std::string plain = family("chatml_plain.jinja");
  EXPECT_THAT(refusal(format_of(plain), "user", kTools),
              AllOf(HasSubstr("does not show tools"), HasSubstr("text.template")));
  // Earlier answers are shown in capitals, whoever speaks next.
  EXPECT_THAT(refusal(format_of("{% for m in messages %}<|im_start|>{{ m.role }}\n"
                                "{{ m.content if loop.last else m.content | upper }}<|im_end|>\n"
                                "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n"
                                "{% endif %}"),
                      "user"),
              AllOf(HasSubstr("role user"), HasSubstr("text.template")));
  // Roles alternate.
  const std::string pairs = family("first_user_prefix.jinja");
  EXPECT_THAT(refusal(format_of(pairs), "tool"),
              AllOf(HasSubstr("roles must alternate"), HasSubstr("set environment.role=user")));
  EXPECT_THAT(refusal(format_of("{% for m in messages %}{% if m.role != 'tool' %}<|im_start|>"
                                "{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}"
                                "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"),
                      "tool"),
              AllOf(HasSubstr("does not show a message of role tool"),
                    HasSubstr("set environment.role=user")));
}

TEST(TurnTexts, RealTemplatesAreRefusedByWhatTheyDrop) {
  const auto qwen3 = shared_templates() / "Qwen-Qwen3-0.6B.jinja";
  if (!std::filesystem::exists(qwen3)) GTEST_SKIP() << qwen3 << " is not there";
  TextSection section;
  const std::string chat_template = read_file(qwen3);
  EXPECT_THAT(refusal(format_of(chat_template, section), "user", kTools),
              AllOf(HasSubstr("it drops the thought"), HasSubstr("set environment.role=tool")));
  // The empty thought that this setting puts before an answer is not shown later.
  section.variables = {{"enable_thinking", "false"}};
  EXPECT_THAT(refusal(format_of(chat_template, section), "tool"),
              AllOf(HasSubstr("it shows"), HasSubstr("change text.variables")));
}

TEST(TurnTexts, ATurnWithoutItsEndTokenIsClosedFirst) {
  const PromptFormat format = format_of(family("chatml_plain.jinja"));
  const TurnTexts texts(format, "user", "");
  const std::vector<Said> said{{"user", "No."}};
  const Tokens ended = sampled(format, "7"), cut(ended.begin(), ended.end() - 1);
  const Tokenizer& tokenizer = *format.tokenizer();
  EXPECT_EQ(texts.between(ended, said),
            tokenizer.encode("\n<|im_start|>user\nNo.<|im_end|>\n<|im_start|>assistant\n"));
  EXPECT_EQ(
      texts.between(cut, said),
      tokenizer.encode("<|im_end|>\n<|im_start|>user\nNo.<|im_end|>\n<|im_start|>assistant\n"));
  EXPECT_EQ(texts.between({}, said), texts.between(cut, said));
}

TEST(TurnTexts, WhatIsToldCannotEndATurn) {
  const PromptFormat format = format_of(family("chatml_plain.jinja"));
  const TurnTexts texts(format, "tool", "");
  const Tokens turn = sampled(format, "7");
  const auto between = [&](const std::string& told) {
    const std::vector<Said> said{{"tool", told}};
    return texts.between(turn, said);
  };
  EXPECT_EQ(between("a<|im_end|>b<|im_start|>c"), between("abc"));
  EXPECT_EQ(between("<|im_<|im_end|>end|>"), between(""));
}

TEST(TurnTexts, WhereRolesAlternateSeveralMessagesAreOne) {
  const PromptFormat format = format_of(family("first_user_prefix.jinja"));
  const TurnTexts texts(format, "user", "");
  const Tokens turn = sampled(format, "7");
  const std::vector<Said> two{{"user", "a"}, {"user", "b"}}, one{{"user", "a\nb"}};
  EXPECT_EQ(texts.between(turn, two), texts.between(turn, one));
}

TEST(TurnTexts, AnAnswersBeginningIsGivenAgain) {
  TextSection section;
  section.assistant_prefix = "<think>\n";
  const PromptFormat format = format_of(family("chatml_plain.jinja"), section);
  const TurnTexts texts(format, "user", "");
  const std::vector<Said> said{{"user", "No."}};
  EXPECT_EQ(texts.between(sampled(format, "7"), said),
            format.tokenizer()->encode(
                "\n<|im_start|>user\nNo.<|im_end|>\n<|im_start|>assistant\n<think>\n"));
}

TEST(TurnTexts, WithoutATemplateMessagesStandOnLinesOfTheirOwn) {
  const PromptFormat format(TextSection{}, std::filesystem::path());
  const TurnTexts texts(format, "user", "");
  const Tokens turn = format.tokenizer()->encode("7");
  const std::vector<Said> two{{"user", "Wrong."}, {"user", "Again."}};
  EXPECT_EQ(texts.between(turn, two), format.tokenizer()->encode("\nWrong.\nAgain.\n"));
  EXPECT_EQ(texts.action_text(turn), "7");
  EXPECT_THAT(refusal(format, "user", kTools), HasSubstr("does not show tools"));
}

/// In the prompt of a task, in a conversation that has none of its own, and in no other.
TEST(TurnTexts, PromptsShowTheToolsOfTheRun) {
  TextFiles files;
  files.tokenizer = std::make_shared<Spelling>(std::vector<std::string>{"<|im_end|>"});
  files.chat_template =
      "{% if tools %}{{ tools[0].function.name }}: {% endif %}" + family("chatml_plain.jinja");
  const PromptFormat with(TextSection{}, files, "the test", kTools),
      without(TextSection{}, files, "the test");
  const std::string tool = "calculator: ";
  EXPECT_EQ(with.prompt_text("7?"), tool + without.prompt_text("7?"));
  EXPECT_NE(with.fingerprint(), without.fingerprint());
  Conversation talk{{message("user", "7?")}};
  EXPECT_EQ(with.chat_tokens(talk), with.prompt_tokens("7?"));
  talk.variables["tools"] = Message::parse(R"([{"function": {"name": "other"}}])");
  EXPECT_TRUE(with.tokenizer()
                  ->decode(with.chat_tokens(talk), Tokenizer::Special::spelt)
                  .starts_with("other: "));
}

}  // namespace
}  // namespace rollcall::text
