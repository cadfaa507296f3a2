// Files of rows: arrays, lists of files, what is left out, and the counts of it.
#include "task/rows/file_task.hpp"

#include "base/errors/error.hpp"
#include "support/temporary_folder.hpp"
#include "task/answer_source.hpp"
#include "task/rows/file_list.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace rollcall::task {
namespace {

using rollcall::testing::TemporaryFolder;

TaskSection section_of(const std::string& file) {
  TaskSection section;
  section.name = "file", section.file = file, section.answer_marker = "";
  section.train_prompts = section.heldout_prompts = section.validation_prompts = 0;
  section.heldout_share = 0.0;
  return section;
}

std::string row(const std::string& source, int number) {
  return fmt::format(
      "{{\"question\": \"{0} {1}\", \"answer\": \"{1}\", \"meta\": {{\"kind\": "
      "\"{0}\", \"size\": {2}}}}}",
      source, number, number % 2);
}

std::string rows(const std::string& source, int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += row(source, i) + "\n";
  return lines;
}

std::string message_of(const TaskSection& section) {
  try {
    read_rows(section);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

void expect_whole(const RowTally& tally, const PromptSet& set) {
  std::size_t rows = 0, usable = 0, dropped = 0;
  for (const auto& file : tally.files) rows += file.rows, usable += file.usable;
  for (const auto& [why, count] : tally.dropped) dropped += count;
  EXPECT_EQ(rows, usable + dropped);
  EXPECT_EQ(usable, set.train.size() + set.validation.size() + set.heldout.size());
}

TEST(FileTask, AnArrayIsReadAsItsLinesAre) {
  const TemporaryFolder folder;
  const std::string array =
      "\n [" + row("a[{,\\\"", 1) + ",\n" + row("b", 2) + " , " + row("c", 3) + "]\n";
  const std::string lines = row("a[{,\\\"", 1) + "\n" + row("b", 2) + "\n" + row("c", 3) + "\n";
  const PromptSet whole = read_rows(section_of(folder.write("whole.json", array)));
  ASSERT_EQ(whole.train.size(), 3U);
  EXPECT_EQ(whole.hash, read_rows(section_of(folder.write("lines.jsonl", lines))).hash);
  EXPECT_NE(whole.extra_of(whole.train[2]).find("\"line\":3"), std::string::npos);
}

TEST(FileTask, DamagedArraysAreNamed) {
  const TemporaryFolder folder;
  const std::pair<std::string, const char*> cases[] = {
      {"[" + row("a", 1), "the array is not closed"},
      {"[" + row("a", 1) + ",", "the array is not closed"},
      {"[" + row("a", 1) + "] x", "something follows the array"},
      {"[" + row("a", 1) + ", 7]", "bad.json:2: not a JSON object"},
      {"[" + row("a", 1) + ",]", "bad.json:2: not JSON"},
      {"[" + row("a", 1) + ", {\"question\": " + std::string(100, '[') + "]", "nest too deep"},
      {"[]", "holds no question"},
      {"[", "the array is not closed"}};
  for (const auto& [content, said] : cases) {
    const std::string message = message_of(section_of(folder.write("bad.json", content)));
    EXPECT_NE(message.find(said), std::string::npos) << content << ": " << message;
  }
}

TEST(FileTask, AnArrayThatIsCutWithinARowIsToldOnce) {
  const TemporaryFolder folder;
  const std::string cut = "[" + row("a", 1) + ", {\"question\": \"b";
  const std::string message = message_of(section_of(folder.write("cut.json", cut)));
  EXPECT_NE(message.find("cut.json:2: the array is not closed"), std::string::npos) << message;
  EXPECT_EQ(message.find("not JSON"), std::string::npos) << message;
}

TEST(FileTask, ConditionsChooseRows) {
  const TemporaryFolder folder;
  const auto file = folder.write("all.jsonl", rows("a", 10) + rows("b", 10) + "{\"no\": 1}\n");
  TaskSection section = section_of(fmt::format(
      R"([{{"path": "{}", "where": {{"meta.kind": "b", "meta.size": [1, 7]}}}}])", file));
  RowTally tally;
  const PromptSet set = read_rows(section, &tally);
  EXPECT_EQ(set.train.size(), 5U);
  for (const Prompt& prompt : set.train) EXPECT_TRUE(prompt.text.starts_with("b "));
  EXPECT_EQ(tally.dropped.at("where"), 16U) << "a row that is not chosen need not be whole";
  expect_whole(tally, set);
  EXPECT_EQ(row_count(section), 5U);
  section.file = fmt::format(R"([{{"path": "{}", "where": {{"meta.kind": "c"}}}}])", file);
  EXPECT_NE(message_of(section).find("change where"), std::string::npos) << message_of(section);
}

TEST(FileTask, WeightsAreTheProportionOfTheMostRows) {
  const TemporaryFolder folder;
  const auto a = folder.write("a.jsonl", rows("a", 100)),
             b = folder.write("b.jsonl", rows("b", 30));
  const auto counted = [&](double of_a, double of_b) {
    RowTally tally;
    const PromptSet set =
        read_rows(section_of(fmt::format(
                      R"([{{"path": "{}", "weight": {}}}, {{"path": "{}", "weight": {}}}])", a,
                      of_a, b, of_b)),
                  &tally);
    expect_whole(tally, set);
    return std::pair(tally.files[0].usable, tally.files[1].usable);
  };
  EXPECT_EQ(counted(3, 1), std::pair(std::size_t{90}, std::size_t{30}));
  EXPECT_EQ(counted(1, 1), std::pair(std::size_t{30}, std::size_t{30}));
  EXPECT_EQ(counted(1000, 1), std::pair(std::size_t{100}, std::size_t{1})) << "none is left out";
  const PromptSet all = read_rows(section_of(fmt::format(R"(["{}", "{}"])", a, b)));
  EXPECT_EQ(all.train.size(), 130U);
  EXPECT_EQ(all.train[100].text, "b 0\n") << "files follow each other in the list's order";
}

TEST(FileTask, AQuestionOfTwoFilesCountsOnce) {
  const TemporaryFolder folder;
  const auto a = folder.write("a.jsonl", rows("a", 10)), b = folder.write("b.jsonl", rows("a", 12));
  RowTally tally;
  const PromptSet set = read_rows(section_of(fmt::format(R"(["{}", "{}"])", a, b)), &tally);
  EXPECT_EQ(set.train.size(), 12U);
  EXPECT_EQ(tally.files[1].usable, 2U);
  EXPECT_EQ(tally.dropped.at("repeated"), 10U);
  expect_whole(tally, set);
  const std::string message = message_of(section_of(fmt::format(R"(["{}", "{}"])", b, a)));
  EXPECT_NE(message.find("a.jsonl holds no question that the files before it do not ask"),
            std::string::npos)
      << message;
}

TEST(FileTask, WhiteSpaceAndUnicodeFormMakeNoOtherQuestion) {
  const TemporaryFolder folder;
  const auto asked = [](const std::string& question) {
    return R"({"question": ")" + question + R"(", "answer": "1"})" + "\n";
  };
  const std::string composed = "caf\\u00e9", parts = "cafe\\u0301";
  const auto file =
      folder.write("alike.jsonl", asked("a") + asked("a ") + asked(composed) + asked(parts) +
                                      asked("\\ta") + asked("cafe") + asked("a b"));
  RowTally tally;
  TaskSection section = section_of(file);
  const PromptSet set = read_rows(section, &tally);
  ASSERT_EQ(set.train.size(), 4U);
  EXPECT_EQ(set.train[0].text, "a\n") << "a question is asked as the first of its rows has it";
  EXPECT_EQ(set.train[1].text, "caf\xc3\xa9\n");
  EXPECT_EQ(tally.dropped.at("repeated"), 3U);
  expect_whole(tally, set);
  section.heldout_file = folder.write("heldout.jsonl", asked(" a b") + asked(parts));
  EXPECT_EQ(read_rows(section).train.size(), 2U) << "what is held out is not trained on";
}

TEST(FileTask, MistakesInAllFilesAreReportedTogether) {
  const TemporaryFolder folder;
  const auto a = folder.write("a.jsonl", rows("a", 3) + "{\n"),
             b = folder.write("b.jsonl", rows("b", 3) + "[\n");
  const std::string message = message_of(section_of(fmt::format(R"(["{}", "{}"])", a, b)));
  EXPECT_NE(message.find("a.jsonl:4"), std::string::npos) << message;
  EXPECT_NE(message.find("b.jsonl:4"), std::string::npos) << message;
}

/// Programs of Windows begin a file with a byte order mark.
TEST(FileTask, AByteOrderMarkIsNoContent) {
  const TemporaryFolder folder;
  const std::string mark = "\xEF\xBB\xBF", one = row("a, b", 1), array = "[" + one + "]\n";
  const std::string hash = read_rows(section_of(folder.write("bare.jsonl", one + "\n"))).hash;
  for (const std::string& content : {one + "\n", array}) {
    const auto file = folder.write("marked.jsonl", mark + content);
    EXPECT_EQ(message_of(section_of(file)), "accepted") << content;
    EXPECT_EQ(read_rows(section_of(file)).hash, hash) << content;
  }
}

TEST(FileTask, WrongListsAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "is an empty list"},
      {"[7]", "neither a path nor a table"},
      {R"([{"weight": 1}])", "an entry without a path"},
      {R"([{"path": "a", "weight": 0}])", "has the weight 0"},
      {R"([{"path": "a", "weight": 1}, "b"])", "some files a weight and others none"},
      {R"([{"path": "a", "where": 3}])", "a where that is no table"},
      {R"([{"path": "a", "where": {"x": [[1]]}}])", "no plain value for the field x"},
      {R"([{"path": "a", "were": {}}])", "did you mean where"}};
  for (const auto& [list, said] : cases) {
    const std::string message = message_of(section_of(list));
    EXPECT_NE(message.find(said), std::string::npos) << list << ": " << message;
  }
  EXPECT_EQ(row_files(section_of("[1].jsonl")).front().path, "[1].jsonl");
}

TEST(FileTask, BadLinesAreDroppedWhereThatIsAskedFor) {
  const TemporaryFolder folder;
  TaskSection section =
      section_of(folder.write("some.jsonl", rows("a", 5) + "{\"question\": \n" +
                                                "{\"question\": \"q\"}\n\n" + rows("b", 2)));
  EXPECT_NE(message_of(section).find("some.jsonl:6"), std::string::npos);
  section.on_bad_line = "drop";
  RowTally tally;
  const PromptSet set = read_rows(section, &tally);
  EXPECT_EQ(set.train.size(), 7U);
  EXPECT_EQ(tally.files.front().rows, 9U) << "an empty line is no row";
  EXPECT_EQ(tally.dropped.at("bad_line"), 2U);
  expect_whole(tally, set);
  section.file = folder.write("none.jsonl", "{\n{\n");
  EXPECT_NE(message_of(section).find("holds no question"), std::string::npos);
}

TEST(FileTask, TheShareThatIsHeldOutIsAChoice) {
  const TemporaryFolder folder;
  TaskSection section = section_of(folder.write("a.jsonl", rows("a", 100)));
  EXPECT_TRUE(read_rows(section).heldout.empty());
  section.heldout_share = 0.25;
  const PromptSet quarter = read_rows(section);
  EXPECT_EQ(quarter.heldout.size(), 25U);
  section.heldout_share = 0.1;
  const PromptSet tenth = read_rows(section);
  std::set<std::string> held;
  for (const Prompt& prompt : quarter.heldout) held.insert(prompt.text);
  for (const Prompt& prompt : tenth.heldout) EXPECT_TRUE(held.contains(prompt.text));
  section.heldout_share = 0.001;
  EXPECT_EQ(read_rows(section).heldout.size(), 1U) << "at least one";
}

TEST(FileTask, WhatAHeldOutFileAsksIsCounted) {
  const TemporaryFolder folder;
  TaskSection section = section_of(folder.write("a.jsonl", rows("a", 20)));
  section.heldout_file = folder.write("test.jsonl", rows("a", 3) + rows("c", 2));
  section.train_prompts = 10;
  RowTally tally;
  const PromptSet set = read_rows(section, &tally);
  EXPECT_EQ(tally.dropped.at("asked_by_heldout"), 3U);
  EXPECT_EQ(tally.dropped.at("limit"), 7U);
  EXPECT_EQ(tally.files[1].usable, 5U);
  expect_whole(tally, set);
}

TEST(FileTask, HeldOutRowsMayHaveAnotherLayout) {
  const TemporaryFolder folder;
  TaskSection section = section_of(folder.write("a.jsonl", rows("a", 3)));
  section.heldout_file =
      folder.write("test.jsonl", "{\"problem\": \"p\", \"answer\": 3, \"solution\": \"3\"}\n");
  RowTally tally;
  EXPECT_EQ(read_rows(section, &tally).heldout.front().text, "p\n");
  EXPECT_EQ(tally.files[0].layout, "question_answer");
  EXPECT_EQ(tally.files[1].layout, "problem_answer");
}

TEST(FileTask, DottedNamesReachIntoObjectsAndTheirTexts) {
  const TemporaryFolder folder;
  TaskSection section = section_of(folder.write(
      "deep.jsonl",
      R"({"a": {"q": "1+1"}, "b": "{\"c\": {\"answer\": 2}}", "d.e": "k", "how": {"hard": "Level 4"}})"
      "\n"));
  section.fields = {.prompt = "a.q",
                    .answer = "b.c.answer",
                    .level = "how.hard",
                    .domain = "d.e",
                    .prior = "",
                    .id = "a.q",
                    .tools = ""};
  const PromptSet set = read_rows(section);
  const Prompt& prompt = set.train.front();
  EXPECT_EQ(prompt.text, "1+1\n");
  EXPECT_EQ(prompt.answer, "2");
  EXPECT_EQ(prompt.level, 4);
  EXPECT_EQ(prompt.domain, "k");
  EXPECT_NE(set.extra_of(prompt).find("\"id\":\"1+1\""), std::string::npos);
  section.fields.answer = "b.c.none";
  EXPECT_NE(message_of(section).find("deep.jsonl:1: has no field \"b.c.none\""), std::string::npos)
      << message_of(section);
}

TEST(FileTask, WhatIsNoTextIsRefusedWithItsLine) {
  const TemporaryFolder folder;
  const std::pair<const char*, const char*> cases[] = {
      {R"({"prompt": [{"role": "user", "content": [{"type": "text", "text": "hi"}, )"
       R"({"type": "image", "image": "x.png"}]}], "answer": "1"})",
       "m.jsonl:1: part 2 of message 1 holds image"},
      {R"({"prompt": [{"role": "user", "content": [{"type": "image_url", )"
       R"("image_url": {"url": "x"}}]}], "answer": "1"})",
       "holds image_url"},
      {R"({"prompt": [{"role": "user", "content": "<image>hi"}], )"
       R"("images": ["x.png"], "answer": "1"})",
       "the text has the mark <image>"},
      {R"({"question": "<image>hi", "image": "x.png", "answer": "1"})", "\"image\""},
      {R"({"prompt": [{"role": "user", "content": " "}], "answer": "1"})",
       "message 1, of the user, has no text"},
      {R"({"prompt": [{"role": "usr", "content": "a"}], "answer": "1"})",
       "message 1 has the unknown role \"usr\""},
      {R"({"prompt": [{"role": "system", "content": "only"}], "answer": "1"})",
       "\"prompt\" is a system message alone"}};
  for (const auto& [row, said] : cases) {
    const std::string message = message_of(section_of(folder.write("m.jsonl", row)));
    EXPECT_NE(message.find(said), std::string::npos) << row << ": " << message;
  }
}

TEST(FileTask, PromptsThatEndWithTheAssistantAreNamed) {
  const TemporaryFolder folder;
  const std::string messages =
      R"([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}])";
  const auto of = [&](const char* key) {
    return section_of(folder.write(
        "m.jsonl", fmt::format("{{\"{}\": {}, \"ground_truth\": \"a\"}}\n", key, messages)));
  };
  EXPECT_NE(message_of(of("prompt")).find("ends with what the assistant says"), std::string::npos);
  EXPECT_EQ(read_rows(of("messages")).train.front().text, "q\n") << "the answer is cut off";
}

}  // namespace
}  // namespace rollcall::task
