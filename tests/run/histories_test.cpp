// The buffer of histories: what it keeps, with which variance, and how often each is drawn.
#include "run/coordinator/steps/histories.hpp"

#include "io/sample_run.hpp"
#include "run/small_job.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace rollcall::run {
namespace {

RunContext job(const std::filesystem::path& folder) {
  RunContext context = test::small_job(
      folder, {"task.name=sorting", "task.train_prompts=16", "model.max_position_embeddings=128",
               "sampling.max_new_tokens=8", "train.prompts_per_step=8"});
  context.config.second_pass.buffer = 0.25;
  context.config.second_pass.refinement = "{prompt}|{response}|{feedback}|";
  return context;
}

/// A step's group: its rewards, and an exhibit of each rollout that says "r" or "w" and its number.
struct Played {
  std::vector<Specimen> specimens;
  std::vector<GroupReport> reports;
  void add(const GroupId& id, const std::vector<double>& rewards, const Derivation& from = {}) {
    GroupReport report{.id = id, .level = 2, .rewards = rewards, .from = from};
    Specimen specimen{.id = id, .level = 2};
    for (std::uint32_t i = 0; i < rewards.size(); ++i) {
      const bool right = rewards[i] >= 1.0;
      report.correct.push_back(right ? 1 : 0);
      specimen.exhibits.push_back({.sample = i,
                                   .correct = right,
                                   .reward = rewards[i],
                                   .text = fmt::format("{}{}", right ? 'r' : 'w', i)});
    }
    specimens.push_back(std::move(specimen)), reports.push_back(std::move(report));
  }
};

std::vector<History> after(const RunContext& context, std::vector<History> before,
                           const Played& step, const std::vector<DerivedPrompt>& asked = {}) {
  return with_step(std::move(before), context.config, context.texts, asked, step.specimens,
                   step.reports);
}

TEST(Histories, AreWrongAnswersOfGroupsThatVary) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  Played step;
  step.add({3, {0}, 0}, {1, 0, 0, 1});  // variance 1/4
  step.add({3, {1}, 0}, {0, 0, 0, 0});
  step.add({3, {2}, 0}, {1, 1, 1, 0});  // 3/16
  step.add({3, {4}, 0}, {1, 1, 2, 2});  // nothing is wrong
  step.add({3, derived_number(DerivedKind::verdict, 3, 0), 0}, {1, 0});
  const auto histories = after(context, {}, step);
  ASSERT_EQ(histories.size(), 2U);
  const Prompt& question = context.texts.prompts.train[0];
  EXPECT_EQ(histories[0], (History{.parent = {3, {0}, 0},
                                   .sample = 1,
                                   .level = 2,
                                   .question = question.text,
                                   .reference = question.answer,
                                   .answer = "w1",
                                   .variance = 0.25}));
  EXPECT_EQ(histories[1].sample, 3U);
  EXPECT_EQ(histories[1].variance, 0.1875);
  context.config.second_pass.buffer_size = 1;
  const auto few = after(context, {}, step);
  ASSERT_EQ(few.size(), 1U);
  EXPECT_EQ(few[0].variance, 0.25) << "the smallest variance leaves";
  Played equal;
  equal.add({3, {5}, 0}, {1, 0}), equal.add({3, {6}, 0}, {1, 0});
  EXPECT_EQ(after(context, {}, equal).at(0).parent.prompt.value, 5U) << "of equal ones the latest";
}

TEST(Histories, GetTheVarianceOfTheGroupThatWentOnFromThem) {
  const io::test::RunFolder folder;
  const RunContext context = job(folder.path());
  Played first;
  first.add({3, {0}, 0}, {1, 0});
  const auto before = after(context, {}, first);
  const auto asked = continuations(before, context.config, context.texts, 128, 4);
  ASSERT_EQ(asked.size(), 1U);
  const Prompt& question = context.texts.prompts.train[0];
  EXPECT_EQ(asked[0].prompt.id, derived_number(DerivedKind::continuation, 4, 0));
  EXPECT_EQ(asked[0].prompt.text, question.text + "|w1||");
  EXPECT_EQ(asked[0].prompt.answer, question.answer);
  EXPECT_EQ(asked[0].from.parent, (GroupId{3, {0}, 0}));
  EXPECT_EQ(asked[0].from.placement, Placement::own_group);
  Played second;
  second.add({4, asked[0].prompt.id, 0}, {1, 0, 1, 1}, asked[0].from);
  const auto later = after(context, before, second, asked);
  ASSERT_EQ(later.size(), 2U) << "the history stays, and the new answer is one";
  EXPECT_EQ(later[0].variance, 0.1875);
  EXPECT_EQ(later[1].parent.prompt, asked[0].prompt.id);
  EXPECT_EQ(later[1].question, question.text) << "the question is still the task's";
  EXPECT_EQ(later[1].answer, "w1");
  Played solved;
  solved.add({4, asked[0].prompt.id, 0}, {1, 1, 1, 1}, asked[0].from);
  const auto none = after(context, before, solved, asked);
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(none[0].variance, 0.0);
  EXPECT_TRUE(continuations(none, context.config, context.texts, 128, 5).empty());
}

TEST(Histories, AreDrawnInProportionToTheirVariance) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  context.config.second_pass.buffer = 0.125;  // one of 8 prompts
  std::vector<History> histories;
  for (std::uint64_t i = 0; i < 3; ++i)
    histories.push_back({.parent = {1, {i}, 0}, .question = "b>", .answer = "a"});
  histories[0].variance = 0.25, histories[1].variance = 0.15, histories[2].variance = 0.1;
  std::map<std::uint64_t, int> drawn;
  constexpr int kSteps = 4000;
  for (std::uint64_t step = 2; step < 2 + kSteps; ++step) {
    const auto asked = continuations(histories, context.config, context.texts, 128, step);
    ASSERT_EQ(asked.size(), 1U);
    ++drawn[asked[0].from.parent.prompt.value];
  }
  // Binomial: four deviations of sqrt(4000 p (1 - p)).
  for (std::uint64_t i = 0; i < 3; ++i) {
    const double p = histories[i].variance / 0.5;
    EXPECT_NEAR(drawn[i], kSteps * p, 4 * std::sqrt(kSteps * p * (1 - p))) << i;
  }
  context.config.second_pass.buffer = 0.5;
  EXPECT_EQ(continuations(histories, context.config, context.texts, 128, 2).size(), 3U)
      << "four are wanted, and none is drawn twice";
  const auto a = continuations(histories, context.config, context.texts, 128, 7),
             b = continuations(histories, context.config, context.texts, 128, 7);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(a[i].from, b[i].from);
    EXPECT_EQ(a[i].prompt.id, derived_number(DerivedKind::continuation, 7, i));
  }
}

TEST(Histories, ThatDoNotFitTheModelAreLeftOut) {
  const io::test::RunFolder folder;
  RunContext context = job(folder.path());
  const std::vector<History> histories{
      {.parent = {1, {0}, 0}, .question = std::string(200, 'b'), .answer = "a", .variance = 1.0},
      {.parent = {1, {1}, 0}, .question = "b>", .answer = "a", .variance = 1e-9}};
  const auto asked = continuations(histories, context.config, context.texts, 128, 2);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].from.parent.prompt.value, 1U);
}

}  // namespace
}  // namespace rollcall::run
