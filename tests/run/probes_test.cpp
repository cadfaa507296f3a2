// Where reasoning steps end, which tokens belong to them, and what is found behind them: on its
// place alone, whatever else is asked.
#include "run/update/recontext/probes.hpp"

#include "base/errors/error.hpp"
#include "io/sample_run.hpp"
#include "method/columns.hpp"
#include "run/context/question_forms.hpp"
#include "run/small_job.hpp"
#include "run/update/auxiliary_models.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace rollcall::run {
namespace {

namespace column = method::column;
using testing::ElementsAre;

class Probes : public testing::Test {
 protected:
  static RunContext make(const std::filesystem::path& folder,
                         const std::vector<std::string>& more = {}) {
    std::vector<std::string> settings{"task.name=word_sorting",
                                      "task.train_prompts=4",
                                      "model.max_position_embeddings=64",
                                      "sampling.max_new_tokens=12",
                                      "probes.delimiter=\" \"",
                                      "probes.opener=\"=\"",
                                      "probes.max_tokens=3",
                                      "objective.recipe=spae-step-potential"};
    settings.insert(settings.end(), more.begin(), more.end());
    RunContext made = test::small_job(folder, settings);
    open_policy(made, *comm::alone());
    return made;
  }

  Turn said(Role role, const std::string& text) const {
    auto tokens = context.texts.tokenizer->encode(text);
    const std::size_t columns = role == Role::policy ? tokens.size() : 0;
    return {role,
            std::move(tokens),
            {std::vector<float>(columns), std::vector<float>(columns)},
            std::vector<std::uint64_t>(columns)};
  }
  Rollout rollout(std::uint32_t sample, const std::string& guide, const std::string& answer,
                  std::uint64_t prompt) const {
    Rollout made;
    made.sample = sample;
    made.turns.push_back(
        {Role::prompt, prompt_tokens(context.texts, context.texts.prompts.train[prompt], 0)});
    if (!guide.empty()) made.turns.push_back(said(Role::environment, guide));
    made.turns.push_back(said(Role::policy, answer));
    return made;
  }
  /// The first answer has two steps, the second one none, the third one a step that a guide began.
  StepBatch batch() const {
    StepBatch made;
    made.groups.push_back({.id = {7, {1}, 0},
                           .level = 2,
                           .rollouts = {rollout(0, "", "ab c d", 1), rollout(1, "", "ab", 1)}});
    made.groups.push_back({.id = {7, {2}, 0}, .level = 2, .rollouts = {rollout(0, "x", "y z", 2)}});
    made.scores = {{Score{}, Score{}}, {Score{}}};
    return made;
  }

  io::test::RunFolder folder;
  RunContext context = make(folder.path());
  std::unique_ptr<comm::Communicator> alone = comm::alone();
};

TEST_F(Probes, AStepEndsWithItsDelimiter) {
  std::vector<std::array<std::size_t, 3>> ends;
  for (const auto& end :
       step_ends(*context.texts.tokenizer, context.config.probes.delimiter, batch()))
    ends.push_back({end.group, end.rollout, end.tokens});
  EXPECT_EQ(ends, (std::vector<std::array<std::size_t, 3>>{{0, 0, 3}, {0, 0, 5}, {1, 0, 3}}));
}

TEST_F(Probes, EachTokenOfThePolicyBelongsToAStepOrTheAnswer) {
  StepBatch step = batch();
  const auto ends = step_ends(*context.texts.tokenizer, context.config.probes.delimiter, step);
  add_probe_columns(step, ends, std::vector<float>{0.1F, 0.2F, 0.3F},
                    std::vector<float>{0.4F, 0.5F, 0.6F});
  EXPECT_THAT(step.columns[column::reasoning_step][0], ElementsAre(0, 0, 0, 1, 1, -1, -1, -1));
  EXPECT_THAT(step.columns[column::reasoning_step][1], ElementsAre(0, 0, -1));
  EXPECT_THAT(step.columns[column::probe_accuracy][0],
              ElementsAre(0.1F, 0.1F, 0.1F, 0.2F, 0.2F, 0, 0, 0));
  EXPECT_THAT(step.columns[column::probe_confidence][1], ElementsAre(0.6F, 0.6F, 0));
}

TEST_F(Probes, AccuracyIsTheMeanProbabilityOfTheReference) {
  StepBatch step = batch();
  AuxiliaryModels companions(context, *method::make_objective("spae-step-potential", {}, {}),
                             *alone);
  const auto metrics = companions.add_asked_columns(step, 7);
  EXPECT_EQ(metrics.at("probes/steps"), 3.0);
  auto tokens = prompt_tokens(context.texts, context.texts.prompts.train[1], 0);
  const auto reference = context.texts.tokenizer->encode(context.texts.prompts.train[1].answer);
  for (const auto& more : {context.texts.tokenizer->encode("ab ="), reference})
    tokens.insert(tokens.end(), more.begin(), more.end());
  model::MicroBatch micro_batch;
  micro_batch.tokens = tokens, micro_batch.offsets = {0, std::int64_t(tokens.size())};
  for (std::size_t t = tokens.size() - reference.size(); t < tokens.size(); ++t)
    micro_batch.targets.push_back(std::int64_t(t));
  double mean = 0.0;
  for (const float logprob : model::forward(context.store->policy(), micro_batch, 0.6).logprob)
    mean += std::exp(double(logprob)) / double(reference.size());
  EXPECT_NEAR(step.columns[column::probe_accuracy][0][0], mean, 1e-7);
  EXPECT_GT(mean, 0.0);
}

/// Words of [openings] stand behind the question, and the reference is asked behind both.
TEST_F(Probes, TheReferenceIsAskedBehindWhatTheRolloutWasAsked) {
  StepBatch step = batch();
  const std::vector<StepEnd> ends{{0, 0, 3}};
  auto& asked = step.groups[0].rollouts[0].turns.front().tokens;
  const auto plain = asked;
  asked.insert(asked.begin(), plain.front());
  EXPECT_THROW(reference_questions(context.texts, "=", step, ends), InputError)
      << "another task's prompt";
  step.groups[0].rollouts[0].opening = 1;
  const auto questions = reference_questions(context.texts, "=", step, ends);
  ASSERT_EQ(questions.size(), 1U);
  auto wanted = asked;
  for (const auto& more :
       {context.texts.tokenizer->encode("ab "), context.texts.tokenizer->encode("=")})
    wanted.insert(wanted.end(), more.begin(), more.end());
  EXPECT_EQ(questions[0].context, wanted);
  EXPECT_EQ(questions[0].target,
            context.texts.tokenizer->encode(context.texts.prompts.train[1].answer));
}

TEST_F(Probes, WhatIsFoundDependsOnThePlaceAlone) {
  const StepBatch step = batch();
  const auto ends = step_ends(*context.texts.tokenizer, context.config.probes.delimiter, step);
  const auto all = probe_confidence(context, step, ends, 7, *alone);
  for (std::size_t i = 0; i < ends.size(); ++i)
    EXPECT_THAT(probe_confidence(context, step, std::span(ends).subspan(i, 1), 7, *alone),
                ElementsAre(all[i]));
  EXPECT_NE(probe_confidence(context, step, ends, 8, *alone), all) << "another step draws anew";
  for (const float confidence : all) EXPECT_TRUE(confidence > 0 && confidence < 1);
}

TEST_F(Probes, AnotherTasksPromptsAreRefused) {
  StepBatch step = batch();
  step.groups[1].id.prompt.value = 3;
  EXPECT_THROW(reference_questions(
                   context.texts, context.config.probes.opener, step,
                   step_ends(*context.texts.tokenizer, context.config.probes.delimiter, step)),
               InputError);
}

TEST_F(Probes, SettingsThatDoNotFitAreRefused) {
  const auto spae = method::make_objective("spae-step-potential", {}, {});
  EXPECT_NO_THROW(check_probes(context.config, context.texts,
                               context.models.policy.max_position_embeddings, *spae));
  const std::vector<std::vector<std::string>> wrong = {
      {"probes.delimiter=\"\""},
      {"probes.opener=\"\""},
      {"probes.max_tokens=50"},
      {"task.name=tags", "model.max_position_embeddings=512"}};
  for (const auto& settings : wrong) {
    const RunContext other = make(folder.path(), settings);
    EXPECT_THROW(
        check_probes(other.config, other.texts, other.models.policy.max_position_embeddings, *spae),
        ConfigError)
        << settings.front();
    EXPECT_NO_THROW(check_probes(other.config, other.texts,
                                 other.models.policy.max_position_embeddings,
                                 *method::make_objective("grpo", {}, {})))
        << settings.front();
  }
}

}  // namespace
}  // namespace rollcall::run
