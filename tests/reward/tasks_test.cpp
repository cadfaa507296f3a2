// Task and verifier fit together: every row's worked solutions earn full marks, and a spoilt one
// does not.
#include "reward/verifier.hpp"
#include "sandbox/sandbox.hpp"
#include "task/task.hpp"
#include "text/tokenizer/tokenizer.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace rollcall::reward {
namespace {

/// The file of a task that reads one; empty for tasks that make their prompts.
std::string file_of(const std::string& task) {
  const std::string folder = ROLLCALL_SOURCE_DIR "/tests/task/";
  return task == "file" ? folder + "questions.jsonl" : task == "corpus" ? folder + "sums.txt" : "";
}

void expect_full_marks(const std::string& task, const TaskSection& section) {
  const auto& row = task::find_task(task);
  const Grader judge(find_verifier(row.verifier), section);
  const auto set = row.make(section, 11);
  const bool any_text = task == "instructions";  // no one answer; written_to_order_test.cpp spoils
                                                 // its texts
  for (const auto* split : {&set.train, &set.validation, &set.heldout}) {
    for (const Prompt& p : *split) {
      const Score good = judge.score(p, p.solution, true);
      EXPECT_TRUE(good.correct) << p.text << p.solution << p.answer << good.reason;
      EXPECT_EQ(good.reason, "");
      for (std::size_t c = 0; c < good.components.size(); ++c)
        // that one says what was asked
        EXPECT_TRUE(good.components[c] == 1.0 || judge.components()[c] == "masked")
            << p.text << p.solution;
      EXPECT_TRUE(any_text || !judge.score(p, p.solution + "1", true).correct)
          << p.text << p.solution;
      // a closed block is whole
      EXPECT_EQ(judge.score(p, p.solution, false).correct, p.solution.ends_with("```"));
      EXPECT_FALSE(judge.score(p, "", true).correct);
      EXPECT_EQ(good.answer.empty(), any_text);
    }
  }
}

class Row : public ::testing::TestWithParam<std::string> {
 protected:
  /// Prompts of the section: few where each mark is a process, for which the sandbox is started.
  void ask_for(TaskSection& section, std::int64_t prompts) const {
    section.train_prompts = prompts;
    if (GetParam() == "file") section.validation_prompts = -1;  // a share of its few rows
    if (!runs_code(find_verifier(task::find_task(GetParam()).verifier))) return;
    section.train_prompts = 20, section.validation_prompts = 5, section.heldout_prompts = 5;
    if (sandbox::started() == nullptr) sandbox::start({.limits = {}, .workers = 2});
  }
};

TEST_P(Row, SolutionsEarnFullMarks) {
  TaskSection section;
  ask_for(section, 1000);
  section.file = file_of(GetParam());
  expect_full_marks(GetParam(), section);
}

class Worded : public Row {};

TEST_P(Worded, WordsAskForWhatIsJudged) {
  TaskSection section;
  ask_for(section, 100);
  section.file = file_of(GetParam());
  section.wording = {"question"};
  section.min_level = 1;
  expect_full_marks(GetParam(), section);
}

class MadeUp : public Row {};

/// Answers to other prompts of the task are wrong nearly always: what is asked decides. (Several
/// answers are right for some graphs and texts, and options are few.)
TEST_P(MadeUp, AnotherPromptsAnswerIsSeldomRight) {
  TaskSection section;
  ask_for(section, 400);
  section.min_level = 3;
  const auto& row = task::find_task(GetParam());
  const Grader judge(find_verifier(row.verifier), section);
  const auto prompts = row.make(section, 12).train;
  int right = 0;
  for (std::size_t i = 0; i < prompts.size(); ++i)
    right +=
        judge.score(prompts[i], prompts[(i + 1) % prompts.size()].solution, true).correct ? 1 : 0;
  EXPECT_LT(right, int(prompts.size()) * 3 / 10);
}

TEST_P(Row, EveryTokenizerKeepsPromptsAndSolutions) {
  TaskSection section;
  ask_for(section, 50);
  section.file = file_of(GetParam());
  for (const auto& name : text::tokenizer_names()) {
    const auto tokenizer = text::make_tokenizer(name);
    for (const Prompt& p : task::find_task(GetParam()).make(section, 1).train) {
      EXPECT_EQ(tokenizer->decode(tokenizer->encode(p.text + p.solution)), p.text + p.solution);
    }
  }
}

/// The tasks that are answered in one turn; conversations are judged by their environments.
std::vector<std::string> answered() {
  auto names = task::task_names();
  std::erase_if(
      names, [](const std::string& name) { return task::find_task(name).environment != nullptr; });
  return names;
}
/// The tasks whose words are Rollcall's own; then those whose answers are, too, and not a file's.
std::vector<std::string> worded() {
  auto names = answered();
  std::erase(names, "file");
  return names;
}
std::vector<std::string> made_up() {
  auto names = answered();
  std::erase_if(names, [](const std::string& name) { return !file_of(name).empty(); });
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tasks, Row, ::testing::ValuesIn(answered()),
                         [](const auto& i) { return i.param; });
INSTANTIATE_TEST_SUITE_P(Tasks, Worded, ::testing::ValuesIn(worded()),
                         [](const auto& i) { return i.param; });
INSTANTIATE_TEST_SUITE_P(Tasks, MadeUp, ::testing::ValuesIn(made_up()),
                         [](const auto& i) { return i.param; });

TEST(Episode, NoResponseIsCorrect) {
  TaskSection section;
  section.train_prompts = 50, section.validation_prompts = 0, section.heldout_prompts = 1;
  section.format_weight = 0.5;
  for (const auto& name : task::task_names()) {
    const auto& row = task::find_task(name);
    if (row.environment == nullptr) continue;
    EXPECT_STREQ(row.verifier, "episode") << name;
    const Grader judge(find_verifier(row.verifier), section);
    for (const Prompt& p : row.make(section, 2).train) {
      const Score score = judge.score(p, p.solution, true);
      EXPECT_FALSE(score.correct || score.undecided) << p.text;
      EXPECT_EQ(score.reward, 0.0) << "an environment that decides would have to pay more";
      EXPECT_NE(score.reason, "");
    }
  }
}

TEST(Gsm8k, SolutionsEarnFullMarks) {
  const std::filesystem::path folder =
      std::filesystem::path(ROLLCALL_SOURCE_DIR).parent_path() / "shared/data/gsm8k";
  if (!std::filesystem::exists(folder / "train.jsonl"))
    GTEST_SKIP() << "no GSM8K in " << folder << "; get it from github.com/openai/grade-school-math";
  TaskSection section;
  section.file = (folder / "train.jsonl").string();
  section.heldout_file = (folder / "test.jsonl").string();
  section.heldout_prompts = 2000;
  expect_full_marks("file", section);
}

}  // namespace
}  // namespace rollcall::reward
