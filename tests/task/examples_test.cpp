// Files of conversations and of prompts with answers.
#include "task/examples.hpp"

#include "base/errors/error.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

namespace rollcall::task {
namespace {

using rollcall::testing::TemporaryFolder;

TEST(Examples, BothKindsInOneFile) {
  const TemporaryFolder folder;
  SftSection section;
  section.file = folder.write(
      "e.jsonl",
      "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", \"content\": \"b\"}]}\n\n"
      "{\"prompt\": \"p\", \"completion\": \"c\"}\n{\"question\": \"q\", \"answer\": 7}");
  const auto set = read_examples(section);
  ASSERT_EQ(set.conversations.size(), 1U);
  EXPECT_EQ(
      set.conversations[0].messages,
      (std::vector<text::Message>{text::message("user", "a"), text::message("assistant", "b")}));
  EXPECT_EQ(set.lines, (std::vector<std::size_t>{1, 3, 4}));
  EXPECT_EQ(set.answers,
            (std::vector<std::pair<std::string, std::string>>{{"p", "c"}, {"q", "7"}}));
  section.file = folder.write("f.jsonl", "{\"x\": \"p\", \"y\": \"c\"}");
  section.prompt_key.assign(1, 'x'), section.answer_key.assign(1, 'y');
  EXPECT_EQ(read_examples(section).answers.front(), std::pair(std::string("p"), std::string("c")));
  EXPECT_NE(read_examples(section).hash, set.hash);
}

TEST(Examples, ConversationsAreKeptWhole) {
  const TemporaryFolder folder;
  SftSection section;
  const std::string call =
      R"({"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"z": 1, "a": 2}}}]})";
  section.file = folder.write(
      "e.jsonl",
      R"({"id": 7, "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}], "name": "Eve"}, )" +
          call +
          R"(], "tools": "[{\"b\": 1, \"a\": 2}]", "documents": [], "chat_template_kwargs": {"enable_thinking": false}})"
          "\n"
          R"({"prompt": "p", "answer": "c", "source": "s"})");
  const auto set = read_examples(section);
  EXPECT_EQ(set.conversations.at(0).messages.at(1).dump(),
            nlohmann::ordered_json::parse(call).dump())
      << "keys keep their order";
  EXPECT_EQ(set.conversations[0].messages[0]["name"], "Eve");
  EXPECT_EQ(set.conversations[0].variables.dump(),
            R"({"tools":[{"b":1,"a":2}],"documents":[],"enable_thinking":false})");
  EXPECT_EQ(set.unused, (std::map<std::string, std::size_t>{{"id", 1}, {"source", 2}}));
}

TEST(Examples, PartsAreReadAsTheyAreMeant) {
  const TemporaryFolder folder;
  SftSection section;
  section.file = folder.write(
      "e.jsonl",
      R"({"messages": [{"role": "user", "content": {"type": "text", "text": "a"}}, )"
      R"({"role": "user", "content": [{"text": "b"}, "c"]}, {"role": "tool", "content": {"t": 21}}, )"
      R"({"role": "assistant", "content": {"text": "d"}}]})");
  const auto messages = read_examples(section).conversations.at(0).messages;
  EXPECT_EQ(messages.at(0)["content"].dump(), R"([{"type":"text","text":"a"}])");
  EXPECT_EQ(messages.at(1)["content"].dump(),
            R"([{"type":"text","text":"b"},{"type":"text","text":"c"}])");
  EXPECT_EQ(messages.at(2)["content"].dump(), R"({"t":21})")
      << "what a tool gave is the template's affair";
  EXPECT_EQ(messages.at(3)["content"].dump(), R"([{"type":"text","text":"d"}])");
}

/// What reading a file of examples says.
std::string refusal(const std::string& content) {
  const TemporaryFolder folder;
  SftSection section;
  section.file = folder.write("e.jsonl", content);
  try {
    read_examples(section);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

void has(const std::string& text, const char* part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Examples, WhatIsNoTextIsRefused) {
  const auto said = [](const std::string& user, const std::string& more = "") {
    return R"({"messages": [{"role": "user", "content": )" + user +
           R"(}, {"role": "assistant", "content": "b"}])" + more + "}";
  };
  const std::string text = R"({"type": "text", "text": "a"})";
  has(refusal("\n" + said("[" + text + R"(, {"type": "image", "image": "x.png"}])")),
      "e.jsonl:2: part 2 of message 1 holds image");
  has(refusal(said(R"([{"type": "image_url", "image_url": {"url": "x"}}])")), "holds image_url");
  has(refusal(said(R"([{"type": "text", "text": "a", "input_audio": {"data": "x"}}])")),
      "part 1 of message 1 holds input_audio");
  has(refusal(said(R"([{"type": "video"}])")), "holds video");
  EXPECT_EQ(refusal(said(R"([{"type": "text", "text": "a", "image": null}])")), "accepted")
      << "a column of all parts, which this one does not fill";
  has(refusal(said(R"([{"type": "file", "file": "x"}])")),
      "part 1 of message 1 is of the type \"file\" and has no text");
  has(refusal(said(R"("a", "images": ["x.png"])")), "message 1 holds images");
  has(refusal(said(R"("")")), "message 1, of the user, has no text");
  has(refusal(said(R"("<image>a")", R"(, "image": "x.png")")), "the text has the mark <image>");
  has(refusal(said(R"("a")", R"(, "videos": [{"path": "x"}])")), "\"videos\" holds 1 entries");
  EXPECT_EQ(refusal(said(R"("a")", R"(, "image": "x.png", "audios": [])")), "accepted");
  has(refusal(R"({"prompt": "<image>p", "answer": "c", "images": ["x.png"]})"), "\"images\"");
}

TEST(Examples, UnknownRolesAreNamed) {
  has(refusal(R"({"messages": [{"role": "usr", "content": "a"}, )"
              R"({"role": "assistant", "content": "b"}]})"),
      "e.jsonl:1: message 1 has the unknown role \"usr\"");
  has(refusal(R"({"messages": [{"role": "usr", "content": "a"}]})"), "did you mean user?");
}

TEST(Examples, FaultsAreNamedWithTheirLine) {
  has(refusal(""), "holds no example");
  has(refusal("{\"prompt\": \"p\", \"answer\": \"c\"}\n{"), "e.jsonl:2: not JSON");
  EXPECT_EQ(refusal("{\"a\": 1e999}\n").find("json.exception"), std::string::npos);
  EXPECT_EQ(refusal("\n{\"a\": x}").find("line 1"), std::string::npos)
      << "the reader's own count of lines";
  has(refusal("\n{\"a\": x}"), "e.jsonl:2: not JSON at byte 7");
  has(refusal("{\"messages\": \"a\"}"), "e.jsonl:1: the conversation is not a list");
  has(refusal("{\"messages\": [{\"role\": \"user\", \"content\": [1]}]}"),
      "the content of message 1 is neither text nor a list of parts");
  has(refusal(R"({"messages": [{"role": "assistant", "content": {"t": 21}}]})"),
      "the content of message 1 is neither text nor a list of parts");
  has(refusal(R"({"messages": [{"role": "assistant", "content": 21}]})"), "write the text itself");
  has(refusal("{\"messages\": [{\"content\": \"a\"}]}"),
      "message 1 is not an object with role and content");
  has(refusal("{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}"),
      "the assistant says nothing");
  const std::string said = R"("messages": [{"role": "assistant", "content": "a"}])";
  has(refusal("{" + said + ", \"tools\": {}}"), "e.jsonl:1: \"tools\" is not a list");
  has(refusal("{" + said + ", \"chat_template_kwargs\": 1}"),
      "\"chat_template_kwargs\" is not an object");
  has(refusal("{" + said + ", \"chat_template_kwargs\": {\"add_generation_prompt\": true}}"),
      "sets add_generation_prompt");
  has(refusal("{" + said + ", \"tools\": [123456789012345678901234567890]}"),
      "e.jsonl:1 holds 123456789012345678901234567890");
  has(refusal("{\"prompt\": \"p\"}"), "has no key \"answer\"");
  has(refusal("{\"prompt\": \"p\", \"answer\": \"a\", \"prompt\": \"q\"}"),
      "e.jsonl:1: the key \"prompt\" stands twice");
  has(refusal(R"({"messages": [{"role": "assistant", "content": "a", "content": "b"}]})"),
      "e.jsonl:1: the key \"content\" stands twice");
  has(refusal("{\"text\": \"p\"}"), "sft.messages_key");
}

}  // namespace
}  // namespace rollcall::task
