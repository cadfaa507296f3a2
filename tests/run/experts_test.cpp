// An expert's rollouts: which of several worked solutions a step takes, and that each is judged and
// tokenised as itself.
#include "run/update/experts.hpp"

#include "run/small_job.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <map>

namespace rollcall::run {
namespace {

/// Questions of which the first has three solutions, the others one.
RunContext job_of_teachers(const testing::TemporaryFolder& folder) {
  std::string lines = R"({"question": "1+2", "answer": ["#### 3", "a #### 3", "b #### 3"]})"
                      "\n";
  for (int i = 0; i < 12; ++i)
    lines += "{\"question\": \"" + std::to_string(i) + "\", \"answer\": \"#### 1\"}\n";
  return test::small_job(folder / "run",
                         {"task.name=file", "task.file=\"" + folder.write("q.jsonl", lines) + "\"",
                          "task.validation_prompts=1", "text.tokenizer=byte", "experts.share=1",
                          "objective.recipe=dypo", "model.max_position_embeddings=128"});
}

TEST(Experts, DrawOneOfSeveralSolutionsEvenly) {
  const testing::TemporaryFolder folder;
  const RunContext context = job_of_teachers(folder);
  std::map<std::string, int> drawn;
  std::size_t asked_of_three = 0;
  for (std::uint64_t step = 1; step <= 300; ++step) {
    StepBatch batch;
    for (std::uint64_t p = 0; p < context.texts.prompts.train.size(); ++p)
      batch.groups.push_back({.id = {step, {p}, 0}, .level = 0, .rollouts = {}}),
          batch.scores.emplace_back();
    add_experts(batch, context.config, context.texts, *context.grading.grader, step);
    for (std::size_t g = 0; g < batch.groups.size(); ++g) {
      ASSERT_EQ(batch.groups[g].rollouts.size(), 1U);
      const Rollout& expert = batch.groups[g].rollouts.front();
      EXPECT_TRUE(batch.scores[g].front().correct) << expert.text;
      EXPECT_EQ(expert.text.find('\x1e'), std::string::npos);
      // bytes and the end token
      EXPECT_EQ(expert.turns.back().tokens.size(), expert.text.size() + 1) << expert.text;
      if (context.texts.prompts.train[g].text == "1+2\n") ++drawn[expert.text], ++asked_of_three;
    }
  }
  ASSERT_EQ(asked_of_three, 300U) << "the question with three solutions was held out: ask another";
  ASSERT_EQ(drawn.size(), 3U);
  for (const auto& [text, count] : drawn) EXPECT_NEAR(count, 100, 35) << text;
}

}  // namespace
}  // namespace rollcall::run
