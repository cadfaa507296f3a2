// Question files: our own forty, GSM8K where it is, and files that are wrong.
#include "base/errors/error.hpp"
#include "support/temporary_folder.hpp"
#include "task/generate.hpp"
#include "task/solutions.hpp"
#include "task/task.hpp"
#include "text/answer/accepted_answers.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

namespace rollcall::task {
namespace {

using rollcall::testing::TemporaryFolder;
const std::string kQuestions = ROLLCALL_SOURCE_DIR "/tests/task/questions.jsonl";

TaskSection section_of(const std::string& file) {
  TaskSection s;
  s.name = "file";
  // as a run file without them has it
  s.train_prompts = s.heldout_prompts = 0, s.validation_prompts = -1;
  s.file = file;
  return s;
}
PromptSet make(const TaskSection& section) { return find_task("file").make(section, 1); }

std::string message_of(const TaskSection& section) {
  try {
    make(section);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Jsonl, ReadsQuestionAnswerSolutionAndLevel) {
  TaskSection section = section_of(kQuestions);
  section.split = "by_row";
  const PromptSet set = make(section);
  EXPECT_EQ(set.train.size() + set.validation.size() + set.heldout.size(), 40U);
  for (const auto* split : {&set.train, &set.validation, &set.heldout}) {
    EXPECT_FALSE(split->empty());
    for (const Prompt& p : *split) {
      EXPECT_EQ(split_of(p.text) == Split::heldout, p.split == Split::heldout);
      if (!p.text.starts_with("A theatre")) continue;
      EXPECT_EQ(p.text.back(), '\n');
      EXPECT_EQ(p.level, 3);
      EXPECT_EQ(p.answer, "1200");
      EXPECT_TRUE(p.solution.ends_with("dollars.\n#### 1,200"));
    }
  }
}

TEST(Jsonl, ReadsDomainsAndPriorsWhereTheirKeysAreNamed) {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 40; ++i)
    lines += "{\"question\": \"" + std::to_string(i) +
             "\", \"answer\": \"1\", \"kind\": \"algebra\", \"rate\": 0.25}\n";
  TaskSection s = section_of(folder.write("told.jsonl", lines));
  s.answer_marker = "";
  const PromptSet untold = make(s);
  EXPECT_TRUE(untold.train.front().domain.empty());
  EXPECT_TRUE(std::isnan(untold.train.front().prior));
  s.fields.domain = "kind", s.fields.prior = "rate";
  const PromptSet told = make(s);
  EXPECT_EQ(told.train.front().domain, "algebra");
  EXPECT_EQ(told.train.front().prior, 0.25F);
  EXPECT_NE(told.hash, untold.hash);  // a schedule follows them, so they are part of the data
  s.fields.prior = "kind";
  EXPECT_NE(message_of(s).find("told.jsonl:1: \"kind\" is not a success rate"), std::string::npos)
      << message_of(s);
  for (auto* key : {&s.fields.prior, &s.fields.domain}) {
    s.fields.prior = s.fields.domain = "";
    *key = "none";
    const std::string message = message_of(s),
                      setting = key == &s.fields.prior ? "task.fields.prior" : "task.fields.domain";
    EXPECT_NE(
        message.find(
            "told.jsonl:1: has no key \"none\": it has \"answer\", \"kind\", \"question\", \"rate\""),
        std::string::npos)
        << message;
    EXPECT_NE(message.find("leave " + setting + " out"), std::string::npos) << message;
    EXPECT_EQ(message.find("a question and an answer are needed"), std::string::npos) << message;
  }
}

TEST(Jsonl, LimitsApplyAndKeepTheFileOrder) {
  TaskSection s = section_of(kQuestions);
  s.validation_prompts = 0;
  const PromptSet all = make(s);
  s.train_prompts = 5, s.heldout_prompts = 1;
  const PromptSet few = make(s);
  ASSERT_EQ(few.train.size(), 5U);
  EXPECT_EQ(few.validation.size(), 0U);
  EXPECT_EQ(few.heldout.size(), 1U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(few.train[i].text, all.train[i].text);
}

TEST(Jsonl, QuestionsOfTheHeldOutFileLeaveTheTrainingFile) {
  const TemporaryFolder folder;
  std::string lines, half;
  for (int i = 0; i < 100; ++i) {
    lines += "{\"question\": \"q" + std::to_string(i) + "\", \"answer\": \"#### 1\"}\n";
    if (i == 49) half = lines;
  }
  TaskSection s = section_of(folder.write("train.jsonl", lines));
  s.heldout_file = folder.write("test.jsonl", half);
  s.heldout_prompts = 10;  // those beyond the limit are kept apart too
  const PromptSet set = make(s);
  EXPECT_EQ(set.heldout.size(), 10U);
  std::set<std::string> test;
  s.heldout_prompts = 0;
  for (const Prompt& p : make(s).heldout) test.insert(p.text);
  EXPECT_EQ(set.train.size() + set.validation.size() + test.size(), 100U);
  for (const auto* split : {&set.train, &set.validation}) {
    for (const Prompt& p : *split) EXPECT_FALSE(test.contains(p.text)) << p.text;
  }
}

/// A file of so many rows, of which the first `extra` are others.
std::string rows(int count, int extra = 0) {
  std::string lines;
  for (int i = 0; i < count; ++i)
    lines += "{\"question\": \"q" + std::to_string(i < extra ? i + 100000 : i) +
             "\", \"answer\": \"#### 1\"}\n";
  return lines;
}

TEST(Jsonl, AllRowsTrainButTheFewThatValidate) {
  const TemporaryFolder folder;
  TaskSection s = section_of(folder.write("train.jsonl", rows(30000)));
  s.heldout_file = folder.write("test.jsonl", R"({"question": "else", "answer": "#### 2"})");
  const PromptSet set = make(s);
  EXPECT_EQ(set.train.size(), 29872U);
  EXPECT_EQ(set.validation.size(), 128U);
  std::uint64_t largest = 0;
  for (const Prompt& p : set.validation) largest = std::max(largest, content_hash(p.text));
  for (const Prompt& p : set.train) ASSERT_GT(content_hash(p.text), largest);
  for (std::size_t i = 0; i < set.train.size(); ++i) ASSERT_EQ(set.train[i].id.value, i);
  s.validation_prompts = 0;
  EXPECT_EQ(make(s).train.size(), 30000U);
  s.train_prompts = 7;
  EXPECT_EQ(make(s).train.size(), 7U);
}

TEST(Jsonl, AFewRowsMoreMoveFewRows) {
  const TemporaryFolder folder;
  TaskSection s = section_of(folder.write("before.jsonl", rows(2000)));
  const PromptSet before = make(s);
  s.file = folder.write("after.jsonl", rows(2000, 10));
  const PromptSet after = make(s);
  std::set<std::string> validated;
  for (const Prompt& p : before.validation) validated.insert(p.text);
  std::size_t same = 0;
  for (const Prompt& p : after.validation) same += validated.count(p.text);
  EXPECT_GE(same, validated.size() - 10);
}

TEST(Jsonl, OfAFewRowsATenthValidates) {
  const TemporaryFolder folder;
  TaskSection s = section_of(folder.write("few.jsonl", rows(50)));
  s.heldout_file = folder.write("test.jsonl", R"({"question": "else", "answer": "#### 2"})");
  EXPECT_EQ(make(s).validation.size(), 5U);
  s.validation_prompts = 30;
  EXPECT_EQ(make(s).validation.size(), 30U) << "what is asked for is given";
  s.validation_prompts = 50;
  EXPECT_THROW(make(s), ConfigError);
}

TEST(Jsonl, ATenthIsHeldOutWhateverTheHashes) {
  const TemporaryFolder folder;
  constexpr std::array<int, 3> kCases[] = {
      {2, 1, 0}, {3, 1, 1}, {14, 1, 1}, {15, 2, 2}, {20, 2, 2}, {1000, 100, 100}, {5000, 500, 128}};
  for (const auto& [count, heldout, validation] : kCases) {
    const PromptSet set = make(section_of(folder.write("rows.jsonl", rows(count))));
    EXPECT_EQ(set.heldout.size(), std::size_t(heldout)) << count;
    EXPECT_EQ(set.validation.size(), std::size_t(validation)) << count;
    EXPECT_EQ(set.train.size(), std::size_t(count - heldout - validation)) << count;
    std::uint64_t largest = 0;
    for (const Prompt& p : set.heldout) largest = std::max(largest, content_hash(p.text));
    for (const auto* others : {&set.train, &set.validation})
      for (const Prompt& p : *others) EXPECT_GT(content_hash(p.text), largest) << count;
  }
  EXPECT_EQ(make(section_of(folder.write("rows.jsonl", rows(1)))).train.size(), 1U);
}

TEST(Jsonl, AnEarlierBuildsSplitIsThatOfEachRow) {
  const TemporaryFolder folder;
  TaskSection s = section_of(folder.write("rows.jsonl", rows(200)));
  s.split = "by_row";
  const PromptSet set = make(s);
  std::size_t tenth = 0;
  for (int i = 0; i < 200; ++i)
    tenth += split_of(fmt::format("q{}\n", i)) == Split::heldout ? 1 : 0;
  EXPECT_EQ(set.heldout.size(), tenth);
  for (const Prompt& p : set.heldout) EXPECT_EQ(split_of(p.text), Split::heldout);
  s.split = "exact";
  const PromptSet exact = make(s);
  const auto is_elsewhere = [](const Prompt& p) { return split_of(p.text) != Split::heldout; };
  EXPECT_TRUE(std::any_of(exact.heldout.begin(), exact.heldout.end(), is_elsewhere))
      << "the two ways would be the same";
  EXPECT_EQ(set.validation.size(), (200 - tenth) / 10);
}

TEST(Jsonl, AFileThatIsNamedTwiceIsHeldOutAsAWhole) {
  const TemporaryFolder folder;
  TaskSection s = section_of(folder.write("rows.jsonl", rows(30)));
  s.heldout_file = s.file;
  const PromptSet set = make(s);
  EXPECT_EQ(set.heldout.size(), 30U);
  EXPECT_TRUE(set.train.empty() && set.validation.empty());
}

TEST(Jsonl, AKeyThatStandsTwiceIsNamed) {
  const TemporaryFolder folder;
  constexpr std::pair<const char*, const char*> kCases[] = {
      {R"({"question": "a", "question": "b", "answer": "#### 1"})", "question"},
      {R"({"question": "a", "answer": "#### 1", "meta": [{"x": 1, "x": 1}]})", "x"}};
  for (const auto& [row, key] : kCases) {
    const std::string message = message_of(section_of(folder.write("bad.jsonl", rows(2) + row)));
    EXPECT_NE(message.find(fmt::format("bad.jsonl:3: the key \"{}\" stands twice", key)),
              std::string::npos)
        << message;
  }
}

TEST(Jsonl, AnEmptyAnswerIsNamedAsWhatItIs) {
  const TemporaryFolder folder;
  for (const std::string marker : {"####", ""}) {
    TaskSection s =
        section_of(folder.write("bad.jsonl", rows(2) + R"({"question": "q", "answer": " "})"));
    s.answer_marker = marker;
    const std::string message = message_of(s);
    EXPECT_NE(message.find("bad.jsonl:3: \"answer\" is empty (no response could equal it)"),
              std::string::npos)
        << message;
    EXPECT_EQ(message.find("task.answer_marker"), std::string::npos) << message;
  }
}

TEST(Jsonl, AListAcceptsEachOfItsAnswers) {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 20; ++i)
    lines += "{\"question\": \"" + std::to_string(i) +
             "\", \"answer\": [\"1,000.0\", 7, \"#### four\"]}\n";
  const PromptSet set = make(section_of(folder.write("lists.jsonl", lines)));
  EXPECT_EQ(set.train.front().answer, R"(["1000","7","four"])");
  EXPECT_EQ(solutions(set.train.front()), (std::vector<std::string>{"1,000.0", "7", "#### four"}));
  const auto refused = [&](const char* list) {
    return message_of(section_of(
        folder.write("bad.jsonl", fmt::format("{{\"question\": \"q\", \"answer\": {}}}", list))));
  };
  EXPECT_NE(refused("[]").find("bad.jsonl:1: \"answer\" is an empty list"), std::string::npos);
  EXPECT_NE(refused("[\"a\", \" \"]").find("lists an empty answer"), std::string::npos);
  EXPECT_NE(refused("[\"a\", [1]]").find("lists [1]"), std::string::npos);
  EXPECT_NE(refused("[123456789012345678901234]").find("lists 1.2345"), std::string::npos)
      << "a double would round it";
}

TEST(Jsonl, ATextThatLooksLikeAListIsOneAnswer) {
  const TemporaryFolder folder;
  const auto answer_of = [&](const std::string& answer) {
    TaskSection section = section_of(folder.write(
        "rows.jsonl", fmt::format("{{\"question\": \"q\", \"answer\": {}}}\n", answer)));
    section.answer_marker = "",
    section.heldout_file = folder.write("test.jsonl", R"({"question": "else", "answer": "2"})");
    return make(section).train.front().answer;
  };
  const std::string text = answer_of(R"("[\"a\", \"b\"]")");
  EXPECT_TRUE(text::accepted_answers(text).empty());
  EXPECT_EQ(text::only_answer(text), R"(["a", "b"])");
  EXPECT_EQ(text::accepted_answers(answer_of(R"(["a", "b"])")),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(text::accepted_answers(answer_of(R"(["a"])")), std::vector<std::string>{"a"});
  EXPECT_NE(message_of(section_of(folder.write(
                           "bad.jsonl", "{\"question\": \"q\", \"answer\": \"1\\u001e#### 2\"}")))
                .find("U+001E"),
            std::string::npos);
}

TEST(Jsonl, FilesOfOtherKindsAreNamed) {
  const TemporaryFolder folder;
  using namespace std::string_literals;
  const std::pair<std::string, const char*> kinds[] = {{"PAR1\x15\x04"s, "parquet"},
                                                       {"\x1F\x8B\x08"s, "gzip"},
                                                       {"\x28\xB5\x2F\xFD"s, "zstd"},
                                                       {"\xFF\xFE{\0\"\0"s, "UTF-16"},
                                                       {"{\0\"\0q\0"s, "UTF-16"},
                                                       {"ARROW1\0\0"s, "Arrow"},
                                                       {"{\"question\": \"caf\xE9\"}"s, "Latin-1"}};
  for (const auto& [content, name] : kinds) {
    const std::string message = message_of(section_of(folder.write("other", content)));
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_NE(message.find("other"), std::string::npos) << message;
  }
}

TEST(Jsonl, EmptyQuestionsAreNamed) {
  const TemporaryFolder folder;
  const std::string message = message_of(section_of(
      folder.write("bad.jsonl", rows(3) + R"({"question": " \n", "answer": "#### 1"})")));
  EXPECT_NE(message.find("bad.jsonl:4: \"question\" is empty"), std::string::npos) << message;
}

TEST(Jsonl, RepeatedQuestionsCountOnce) {
  const TemporaryFolder folder;
  const std::string line = R"({"question": "q0", "answer": "#### 1"})"
                           "\n";
  const std::string other = R"({"question": "another", "answer": 7})"
                            "\n";
  TaskSection s = section_of(folder.write("a.jsonl", line + "\r\n\n" + line + line));
  s.heldout_file = folder.write("b.jsonl", R"({"question": "else", "answer": "#### 2"})");
  EXPECT_EQ(make(s).train.size() + make(s).validation.size(), 1U);
  s.answer_marker = "";
  s.heldout_file = folder.write("c.jsonl", other);
  EXPECT_EQ(make(s).heldout.at(0).answer, "7");
}

TEST(Jsonl, AListOfAnswersIsASolutionOfEachTeacher) {
  const TemporaryFolder folder;
  std::string lines =
      R"({"question": "two", "answer": ["so\n#### 3", "or\nso\n#### 3.0", "#### 3"]})"
      "\n";
  for (int i = 0; i < 20; ++i)
    lines += "{\"question\": \"" + std::to_string(i) + "\", \"answer\": \"#### 1\"}\n";
  TaskSection section = section_of(folder.write("teachers.jsonl", lines));
  section.validation_prompts = 0;
  section.heldout_file = kQuestions;
  const PromptSet set = make(section);
  const auto two = std::find_if(set.train.begin(), set.train.end(),
                                [](const Prompt& p) { return p.text == "two\n"; });
  ASSERT_NE(two, set.train.end());
  EXPECT_EQ(solutions(*two),
            (std::vector<std::string>{"so\n#### 3", "or\nso\n#### 3.0", "#### 3"}));
  EXPECT_EQ(text::accepted_answers(two->answer), std::vector<std::string>{"3"})
      << "which all of them come to";
  EXPECT_EQ(two->level, 1);  // of the first
  for (const Prompt& p : set.train) EXPECT_EQ(solutions(p).size(), p.text == "two\n" ? 3U : 1U);
}

TEST(Jsonl, MalformedLinesAreNamed) {
  const TemporaryFolder folder;
  const std::string good = R"({"question": "q", "answer": "#### 1"})"
                           "\n";
  for (const std::string bad :
       {"{", "[1]", "\"text\"", R"({"question": "q"})", R"({"answer": "#### 1"})",
        R"({"question": ["q"], "answer": "#### 1"})", R"({"question": "q2", "answer": "1"})",
        R"({"question": "q2", "answer": "#### "})",
        "{\"question\": \"\xFF\", \"answer\": \"#### 1\"}",
        R"({"question": null, "answer": "#### 1"})", "{} {}", R"({"question": "q2", "answer": []})",
        R"({"question": "q2", "answer": ["#### 1", "a\u001e#### 1"]})"}) {
    const std::string message =
        message_of(section_of(folder.write("bad.jsonl", good + "\n" + bad + "\n" + good)));
    EXPECT_NE(message.find("bad.jsonl:3: "), std::string::npos) << bad << " -> " << message;
  }
}

TEST(Jsonl, MissingAndEmptyFilesAreNamed) {
  const TemporaryFolder folder;
  EXPECT_NE(message_of(section_of((folder / "none.jsonl").string())).find("none.jsonl"),
            std::string::npos);
  EXPECT_NE(message_of(section_of(folder.write("empty.jsonl", "\n\n"))).find("holds no question"),
            std::string::npos);
  EXPECT_NE(message_of(section_of(folder.path().string())).find("is a folder"), std::string::npos);
}

TEST(Jsonl, Gsm8kReadsWhole) {
  const std::filesystem::path folder =
      std::filesystem::path(ROLLCALL_SOURCE_DIR).parent_path() / "shared/data/gsm8k";
  if (!std::filesystem::exists(folder / "train.jsonl"))
    GTEST_SKIP() << "no GSM8K in " << folder << "; get it from github.com/openai/grade-school-math";
  TaskSection s = section_of((folder / "train.jsonl").string());
  s.heldout_file = (folder / "test.jsonl").string();
  const PromptSet set = make(s);
  EXPECT_EQ(set.heldout.size(), 1319U);
  EXPECT_EQ(set.train.size() + set.validation.size(), 7473U);
  EXPECT_EQ(set.validation.size(), 128U);
  for (const Prompt& p : set.heldout)
    EXPECT_EQ(p.answer.find_first_not_of("-0123456789."), std::string::npos) << p.answer;
  EXPECT_EQ(set.heldout[0].answer, "18");
  EXPECT_EQ(set.heldout[0].level, 2);
}

}  // namespace
}  // namespace rollcall::task
