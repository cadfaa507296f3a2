// Layouts of public data sets, in small files of our own that have the documented fields of each.
#include "task/rows/layouts.hpp"
#include "base/errors/error.hpp"
#include "support/temporary_folder.hpp"
#include "task/answer_source.hpp"
#include "task/rows/file_task.hpp"
#include "text/chat/prompt_conversation.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <ostream>
#include <set>
#include <string>

namespace rollcall::task {
namespace {

using rollcall::testing::TemporaryFolder;
const std::string kFolder = ROLLCALL_SOURCE_DIR "/tests/task/layouts/";

/// A data set, and what its first row comes to.
struct DataSet {
  const char* file;
  const char* layout;
  const char* verifier;  ///< empty: the task's own, marked_answer
  const char* prompt;    ///< beginning of the prompt
  const char* answer;
  const char* domain = "";
  int level = 0;
  const char* id = "";  ///< empty: the row has none
};
std::ostream& operator<<(std::ostream& out, const DataSet& set) { return out << set.file; }

constexpr const char* kSum = "What is 2 plus 3?";
const DataSet kDataSets[] = {
    {"gsm8k.jsonl", "question_answer", "", "Ann has 2 pens", "5", "", 1},
    {"verl_gsm8k.jsonl", "verl", "math", kSum, "5", "openai/gsm8k", 0, "0"},
    {"dapo_math_17k.jsonl", "verl", "math", "Solve this problem.", "5", "math_dapo", 0, "row-0"},
    {"dapo_math_17k_processed.jsonl", "verl", "math", kSum, "5", "math_dapo", 0, "row-0"},
    {"skywork_or1.jsonl", "verl", "math", kSum, "\x1e[\"5\"]", "train-math-numina", 0, "0"},
    {"eurus_2_code.jsonl", "verl", "code", "Think before you write.\n\nRead two numbers",
     R"({"cases":[{"input":"2 3\n","output":"5\n"},{"input":"4 5\n","output":"9\n"}],"type":"stdio"})",
     "taco", 0, "0"},
    {"trl_conversational.jsonl", "prompt_messages", "math", "Put the answer in a box.\n\nWhat",
     "5"},
    {"trl_deepmath_103k.jsonl", "prompt_messages", "math", kSum, "$5$"},
    {"trl_prompt_text.jsonl", "prompt_text", "math", kSum, "5"},
    {"trl_tools.jsonl", "prompt_messages", "math", "Tools: [{\"type\":\"function\"", "5"},
    {"openr1_math_220k.jsonl", "problem_type", "math", kSum, "5", "Algebra", 0, "u-0"},
    {"numinamath_1_5.jsonl", "problem_type", "math", kSum, "5", "Number Theory"},
    {"math.jsonl", "problem_solution", "math", kSum, "5", "Algebra", 2},
    {"math_500.jsonl", "problem_answer", "math", kSum, "5", "Prealgebra", 1,
     "test/prealgebra/0.json"},
    {"numinamath_cot.jsonl", "problem_solution", "math", kSum, "5", "synthetic_math"},
    {"openmathinstruct_2.jsonl", "expected_answer", "math", kSum, "5", "augmented_gsm8k"},
    {"deepscaler.json", "problem_answer", "math", kSum, "5"},
    {"big_math.jsonl", "big_math", "math", kSum, "5", "orca_math"},
    {"deepmath_103k.jsonl", "final_answer", "math", kSum, "5", "Mathematics -> Algebra", 3},
    {"openrlhf.jsonl", "input_label", "math", kSum, "5"},
    {"prime_rl.jsonl", "prime_rl", "math", kSum, "5", "sums", 1},
    {"tulu_rlvr_gsm.jsonl", "messages", "math", kSum, "5", "gsm8k"},
    {"intellect_2.jsonl", "verification_info", "math", kSum, "5", "verifiable_math", 0, "p-0"},
    {"countdown.jsonl", "countdown", "countdown_expression", "Make 24 from the numbers 4, 6, 1.",
     "4 6 1=24", "", 3},
    {"arc.jsonl", "arc", "multiple_choice", "Which of these do fish live in?\nA) water\nB) stone",
     R"({"answer":"A","options":["water","stone","wood","air"]})", "", 4, "Q0"},
    {"mmlu.jsonl", "mmlu", "multiple_choice", kSum,
     R"({"answer":"B","options":["4","5","6","24"]})", "elementary_mathematics", 4},
    {"mmlu_pro.jsonl", "mmlu_pro", "multiple_choice", kSum,
     R"({"answer":"B","options":["4","5","6","24","7/2"]})", "math", 5, "0"},
    {"mbpp.jsonl", "mbpp", "code", "Write a function to add two numbers.\nYour code has to pass",
     R"({"code":"assert add(2, 3) == 5\n","type":"assert"})", "", 0, "0"},
    {"mbpp_sanitized.jsonl", "mbpp", "code", "Write a function to add two numbers.",
     R"({"code":"import math\nassert add(2, 3) == 5\n","type":"assert"})", "", 0, "0"},
    {"human_eval.jsonl", "human_eval", "code", "Complete this Python function.",
     R"({"code":"def check(candidate):\n    assert candidate(2, 3) == 5\n\ncheck(add)\n","type":"assert"})",
     "", 0, "Own/0"},
    {"apps.jsonl", "apps", "code", "Read two numbers and print their sum.",
     R"({"cases":[{"input":"2 3\n","output":"5\n"}],"type":"stdio"})", "introductory", 0, "0"},
    {"ifeval.jsonl", "ifeval", "instructions", "Write a line without a comma",
     R"({"instruction_id_list":["punctuation:no_comma"],"kwargs":[{}]})", "", 1, "0"},
    {"xlam.jsonl", "tool_calls", "json", "Tools: [{\"type\":\"function\"",
     R"({"schema":{"type":"array"},"value":[{"arguments":{"city":"Rome"},"name":"weather"}]})", "",
     1, "0"},
};

/// As a run file with nothing but task.file has it, with all rows for training.
TaskSection section_of(const std::string& file) {
  TaskSection section;
  section.name = "file", section.file = file, section.answer_marker = kAutoMarker;
  section.train_prompts = section.heldout_prompts = section.validation_prompts = 0;
  section.heldout_share = 0.0;
  return section;
}

class Layouts : public ::testing::TestWithParam<DataSet> {};

TEST_P(Layouts, OfAPublicDataSetIsReadUnchanged) {
  const DataSet& set = GetParam();
  TaskSection section = section_of(kFolder + set.file);
  RewardSection reward;
  EXPECT_EQ(fitting_verifier(section, reward),
            std::string(set.layout) == "prime_rl" ? "" : set.verifier);
  settle_answers(section, reward);
  EXPECT_EQ(reward.verifier, set.verifier);
  RowTally tally;
  const PromptSet prompts = read_rows(section, &tally);
  ASSERT_EQ(tally.files.size(), 1U);
  EXPECT_EQ(tally.files[0].layout, set.layout);
  EXPECT_EQ(tally.files[0].rows, 3U);
  EXPECT_EQ(tally.files[0].usable, 3U);
  ASSERT_EQ(prompts.train.size(), 3U);
  const Prompt& first = prompts.train.front();
  EXPECT_TRUE(first.text.starts_with(set.prompt)) << first.text;
  EXPECT_EQ(first.text.back(), '\n');
  EXPECT_EQ(first.domain, set.domain);
  EXPECT_EQ(first.level, set.level);
  EXPECT_EQ(first.answer, set.answer);
  const std::string id =
      std::string("\"id\":") + (std::isdigit(static_cast<unsigned char>(set.id[0])) != 0
                                    ? std::string(set.id)
                                    : "\"" + std::string(set.id) + "\"");
  const std::string extra = prompts.extra_of(first);
  EXPECT_NE(extra.find(*set.id == '\0' ? "\"line\":1" : id), std::string::npos) << extra;
}

INSTANTIATE_TEST_SUITE_P(All, Layouts, ::testing::ValuesIn(kDataSets));

/// Also what became question, reference and worked solution, as graders of other trainers read it.
TEST(LayoutTable, ARowKeepsAllOfItsFields) {
  const PromptSet prompts = read_rows(section_of(kFolder + "openr1_math_220k.jsonl"));
  const std::string extra = prompts.extra_of(prompts.train.front());
  for (const char* field : {"\"problem\":", "\"solution\":", "\"answer\":", "\"uuid\":"})
    EXPECT_NE(extra.find(field), std::string::npos) << field << " is not in " << extra;
}

TEST(LayoutTable, HasADataSetForEveryRow) {
  std::set<std::string> tried{"open_book_qa"};  // as arc, with another name for the question
  for (const DataSet& set : kDataSets) tried.insert(set.layout);
  for (const Layout& layout : layouts()) EXPECT_TRUE(tried.contains(layout.name)) << layout.name;
}

TEST(LayoutTable, SystemMessagesTurnsAndToolsReachTheTemplate) {
  const PromptSet system = read_rows(section_of(kFolder + "trl_conversational.jsonl"));
  const auto talk = text::read_conversation(system.train.front().conversation);
  ASSERT_EQ(talk.messages.size(), 2U);
  EXPECT_EQ(talk.messages[0]["role"], "system");
  EXPECT_EQ(talk.messages[1]["content"], "What is 2 plus 3?");
  const PromptSet tools = read_rows(section_of(kFolder + "xlam.jsonl"));
  const auto asked = text::read_conversation(tools.train.front().conversation);
  ASSERT_TRUE(asked.variables.contains("tools"));
  EXPECT_EQ(asked.variables["tools"][0]["function"]["name"], "weather");
  const PromptSet plain = read_rows(section_of(kFolder + "verl_gsm8k.jsonl"));
  EXPECT_EQ(plain.train.front().conversation, "") << "one question needs none";
}

TEST(LayoutTable, ToolsArePartOfTheData) {
  TaskSection section = section_of(kFolder + "trl_tools.jsonl");
  const PromptSet with = read_rows(section);
  section.fields.prompt = "prompt", section.fields.answer = "answer";
  EXPECT_NE(read_rows(section).hash, with.hash);
}

TEST(LayoutTable, PriorsOfBigMathAreRead) {
  const PromptSet set = read_rows(section_of(kFolder + "big_math.jsonl"));
  EXPECT_EQ(set.train[1].prior, 0.25F);
}

TEST(LayoutTable, RowsOfNoLayoutAreNamedWithTheTwoKeys) {
  const TemporaryFolder folder;
  const auto file = folder.write("own.jsonl", R"({"frage": "2+2?", "loesung": {"wert": 4}})"
                                              "\n");
  TaskSection section = section_of(file);
  try {
    read_rows(section);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    const std::string said = error.what();
    EXPECT_EQ(error.code(), ExitCode::misconfigured);
    EXPECT_NE(said.find("the first has frage, loesung.wert"), std::string::npos) << said;
    EXPECT_NE(said.find("set task.fields.prompt and task.fields.answer"), std::string::npos)
        << said;
  }
  section.fields.prompt = "frage", section.fields.answer = "loesung.wert";
  section.answer_marker = "";
  const PromptSet set = read_rows(section);
  EXPECT_EQ(set.train.front().text, "2+2?\n");
  EXPECT_EQ(set.train.front().answer, "4");
}

}  // namespace
}  // namespace rollcall::task
