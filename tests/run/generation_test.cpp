// The generation stage by itself: what a plan's rollouts say of the policy that sampled them.
#include "run/generation/generation.hpp"

#include "base/errors/error.hpp"
#include "io/sample_run.hpp"
#include "run/context/prompt_book.hpp"
#include "run/context/run_context.hpp"
#include "run/generation/rollout_driver.hpp"
#include "run/messages/actions.hpp"
#include "run/step/step_batch.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace rollcall::run {
namespace {

RunContext small_job(const std::filesystem::path& folder, std::uint64_t version) {
  RunContext context = make_context(
      load_run_config(
          {}, {"run.dir=\"" + folder.string() + "\"", "run.log_level=error", "task.name=sorting",
               "task.train_prompts=4", "task.validation_prompts=2", "task.heldout_prompts=2",
               "task.min_level=1", "task.max_level=2", "model.hidden_size=16",
               "model.intermediate_size=16", "model.num_hidden_layers=1",
               "model.num_attention_heads=1", "model.num_key_value_heads=1", "model.head_dim=16",
               "model.max_position_embeddings=32", "sampling.max_new_tokens=3"}),
      {});
  const auto alone = comm::alone();
  open_policy(context, *alone);
  (void)context.store->publish(PolicyVersion{version}, {alone.get(), {}});
  return context;
}

StepPlan plan_for(const RunContext& context, std::uint64_t version) {
  return {Purpose::train,
          Split::train,
          9,
          0,
          PolicyVersion{version},
          context.config.sampling,
          {{.id = {9, {1}, 0}, .count = 2}, {.id = {9, {2}, 0}, .count = 1}}};
}

/// What a run without an environment samples for the plan.
RolloutShard driven(RunContext& context, const StepPlan& plan) {
  return RolloutDriver(context, nullptr).run(plan, 0);
}

TEST(GenerationStage, EveryTokenNamesThePolicyThatSampledIt) {
  const io::test::RunFolder folder;
  RunContext context = small_job(folder.path(), 5);
  const RolloutShard shard = driven(context, plan_for(context, 5));
  EXPECT_EQ(shard.policy.value, 5U);
  std::size_t tokens = 0;
  for (const auto& group : shard.groups) {
    for (const auto& rollout : group.rollouts) {
      for (const auto& turn : rollout.turns) {
        EXPECT_EQ(turn.policy_version,
                  std::vector<std::uint64_t>(turn.role == Role::policy ? turn.tokens.size() : 0, 5))
            << int(turn.role);
        tokens += turn.policy_version.size();
      }
    }
  }
  EXPECT_GE(tokens, 3U);
}

TEST(GenerationStage, AGroupMayRepeatSomeSamplesOfAnother) {
  const io::test::RunFolder folder;
  RunContext context = small_job(folder.path(), 5);
  StepPlan plan = plan_for(context, 5);
  plan.groups = {{.id = {9, {1}, 0}, .count = 6}};
  const RolloutShard whole = driven(context, plan);
  const Derivation from{.kind = DerivedKind::pool, .parent = {9, {1}, 0}};
  plan.groups = {
      {.id = {9, {1}, 3}, .count = 3, .from = from, .samples = {1, 2, 5}, .stream_draw = 0}};
  const RolloutShard part = driven(context, plan);
  ASSERT_EQ(part.groups.at(0).rollouts.size(), 3U);
  EXPECT_EQ(part.groups[0].from, from);
  for (const auto& rollout : part.groups[0].rollouts) {
    const Rollout& first = whole.groups.at(0).rollouts.at(rollout.sample);
    EXPECT_EQ(rollout.turns.at(1).tokens, first.turns.at(1).tokens) << rollout.sample;
    EXPECT_EQ(rollout.turns.at(1).columns.logprob, first.turns.at(1).columns.logprob);
  }
  EXPECT_EQ(part.groups[0].rollouts[2].sample, 5U);
}

TEST(GenerationStage, DerivedPromptsBeginAnswersAsTheySay) {
  const io::test::RunFolder folder;
  RunContext context = small_job(folder.path(), 5);
  StepPlan plan = plan_for(context, 5);
  const auto given = context.texts.tokenizer->encode("a");
  const PromptId number = derived_number(DerivedKind::intervention, 9, 0);
  const Prompt asked{.id = number, .text = "ba>", .answer = "ab", .solution = {}};
  plan.derived = {{.prompt = asked, .from = {.kind = DerivedKind::intervention}, .given = given}};
  plan.groups = {{.id = {9, number, 0}, .count = 2, .from = plan.derived[0].from}};
  const RolloutShard shard = driven(context, plan);
  for (const auto& rollout : shard.groups.at(0).rollouts) {
    ASSERT_EQ(rollout.turns.size(), 3U);
    EXPECT_EQ(rollout.turns[0].tokens, context.texts.format->prompt_tokens("ba>"));
    EXPECT_EQ(rollout.turns[1].role, Role::environment);
    EXPECT_EQ(rollout.turns[1].tokens, given);
    EXPECT_LE(rollout.turns[2].tokens.size(), 2U) << "what is given is of the answer's length";
    EXPECT_EQ(rollout.text.substr(0, 1), "a");
  }
}

TEST(GenerationStage, RolloutsOfAGroupBeginWithTextsInTurn) {
  const io::test::RunFolder folder;
  RunContext context = small_job(folder.path(), 5);
  context.config.openings.texts = {"a", "b"};
  StepPlan plan = plan_for(context, 5);
  plan.groups = {{.id = {9, {1}, 0}, .count = 3}};
  const RolloutShard whole = driven(context, plan);
  for (const auto& rollout : whole.groups.at(0).rollouts) {
    const std::size_t text = rollout.sample % 2;
    EXPECT_EQ(rollout.opening, std::int64_t(text) + 1);
    ASSERT_EQ(rollout.turns.size(), 3U);
    EXPECT_EQ(rollout.turns[1].role, Role::environment);
    EXPECT_EQ(rollout.turns[1].tokens,
              context.texts.tokenizer->encode(context.config.openings.texts[text]));
    EXPECT_LE(rollout.turns[2].tokens.size(), 2U);
  }
  // Which text a rollout gets goes by its number, whatever round asks for it.
  plan.groups[0].first_sample = 1, plan.groups[0].count = 2;
  const RolloutShard later = driven(context, plan);
  for (std::size_t i = 0; i < 2; ++i) {
    const Rollout &one = later.groups.at(0).rollouts.at(i),
                  &same = whole.groups.at(0).rollouts.at(i + 1);
    EXPECT_EQ(one.sample, same.sample);
    EXPECT_EQ(one.text, same.text);
    EXPECT_EQ(one.turns.at(2).columns.logprob, same.turns.at(2).columns.logprob);
  }
  plan.purpose = Purpose::validation;
  for (const auto& rollout : driven(context, plan).groups.at(0).rollouts)
    EXPECT_EQ(rollout.opening, 0) << "what is measured begins as its prompt ends";
}

TEST(GenerationStage, WordsAreSaidBehindTheQuestion) {
  const io::test::RunFolder folder;
  RunContext context = small_job(folder.path(), 5);
  StepPlan plan = plan_for(context, 5);
  plan.groups = {{.id = {9, {1}, 0}, .count = 4}};
  const RolloutShard plain = driven(context, plan);
  context.config.openings.texts = {"a", "b"}, context.config.openings.as = "prompt";
  const RolloutShard shard = driven(context, plan);
  const std::string& question = context.texts.prompts.train.at(1).text;
  for (const auto& rollout : shard.groups.at(0).rollouts) {
    EXPECT_EQ(rollout.opening, std::int64_t(rollout.sample % 2) + 1);
    ASSERT_EQ(rollout.turns.size(), 2U);
    const std::string words = rollout.sample % 2 == 0 ? "\n\na" : "\n\nb";
    EXPECT_EQ(rollout.turns[0].tokens, context.texts.format->prompt_tokens(question + words));
    EXPECT_TRUE(rollout.facts.empty());
  }
  EXPECT_EQ(longest_asked(context.config, context.texts, 32),
            longest_asked({}, context.texts, 32) + 3);
  plan.purpose = Purpose::validation;
  for (const auto& rollout : driven(context, plan).groups.at(0).rollouts)
    EXPECT_EQ(rollout.opening, 0);
  EXPECT_EQ(plain.groups[0].rollouts[0].opening, 0);
}

/// Rollouts that leave the first one's way share its beginning, hear the words and go on alone; who
/// finds no way is sampled as ever.
TEST(GenerationStage, ExitsLeaveTheWayOfTheFirstRollout) {
  const io::test::RunFolder folder;
  RunContext context = small_job(folder.path(), 5);
  context.config.sampling.max_new_tokens = 12;
  StepPlan plan = plan_for(context, 5);
  plan.groups.clear();
  for (std::uint64_t prompt = 0; prompt < 4; ++prompt)
    plan.groups.push_back({.id = {9, {prompt}, 0}, .count = 4});
  const RolloutShard plain = driven(context, plan);
  context.config.openings.exit = "a";
  const auto words = context.texts.tokenizer->encode("a");
  const RolloutShard shard = driven(context, plan);
  std::size_t exits = 0;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const auto& rollouts = shard.groups.at(g).rollouts;
    ASSERT_EQ(rollouts.size(), 4U);
    const Turn& way = rollouts[0].turns.at(1);
    EXPECT_EQ(way.tokens, plain.groups[g].rollouts[0].turns.at(1).tokens);
    EXPECT_EQ(rollouts[0].parent, -1);
    for (std::size_t i = 1; i < 4; ++i) {
      const Rollout& one = rollouts[i];
      EXPECT_EQ(one.sample, i);
      const std::size_t place = i * way.tokens.size() / 4;
      if (one.parent < 0) {
        EXPECT_TRUE(place == 0 || place + words.size() >= 12);
        EXPECT_EQ(one.turns.at(1).tokens, plain.groups[g].rollouts[i].turns.at(1).tokens);
        continue;
      }
      ++exits;
      EXPECT_EQ(one.parent, 0);
      EXPECT_EQ(one.fork_token, std::int64_t(place));
      ASSERT_EQ(one.turns.size(), 4U);
      const auto shared = std::ptrdiff_t(place);
      EXPECT_EQ(one.turns[1].tokens, std::vector(way.tokens.begin(), way.tokens.begin() + shared));
      EXPECT_EQ(one.turns[1].columns.logprob,
                std::vector(way.columns.logprob.begin(), way.columns.logprob.begin() + shared));
      EXPECT_EQ(one.turns[2].role, Role::environment);
      EXPECT_EQ(one.turns[2].tokens, words);
      EXPECT_FALSE(one.turns[3].tokens.empty());
      EXPECT_LE(place + words.size() + one.turns[3].tokens.size(), 12U);
      EXPECT_EQ(last_action(one), one.text) << "it is judged whole";
      EXPECT_TRUE(one.facts.empty());
    }
  }
  EXPECT_GT(exits, 0U);
  plan.purpose = Purpose::validation, plan.groups.resize(1);
  for (const Rollout& one : driven(context, plan).groups.at(0).rollouts) EXPECT_EQ(one.parent, -1);
}

/// A beginning that trains is a turn of the policy, without numbers that nobody drew.
TEST(GenerationStage, BeginningsMayTrain) {
  const io::test::RunFolder folder;
  RunContext context = small_job(folder.path(), 5);
  StepPlan plan = plan_for(context, 5);
  const auto given = context.texts.tokenizer->encode("a");
  const PromptId number = derived_number(DerivedKind::intervention, 9, 0);
  const Prompt asked{.id = number, .text = "ba>", .answer = "ab", .solution = {}};
  plan.derived = {{.prompt = asked,
                   .from = {.kind = DerivedKind::intervention},
                   .given = given,
                   .learns_given = true}};
  plan.groups = {{.id = {9, number, 0}, .count = 2, .from = plan.derived[0].from}};
  const RolloutShard shard = driven(context, plan);
  for (const auto& rollout : shard.groups.at(0).rollouts) {
    ASSERT_EQ(rollout.turns.size(), 3U);
    EXPECT_EQ(rollout.turns[1].role, Role::policy);
    EXPECT_EQ(rollout.turns[1].tokens, given);
    EXPECT_TRUE(std::isnan(rollout.turns[1].columns.logprob.at(0)));
    EXPECT_TRUE(was_given(rollout, 1));
    EXPECT_FALSE(was_given(rollout, 2));
    EXPECT_EQ(rollout.text.substr(0, 1), "a");
  }
  EXPECT_EQ(sampled_by(shard.groups.at(0)), 5U) << "nobody sampled what was given";
}

TEST(GenerationStage, RefusesATextThatLeavesNothingToSay) {
  const io::test::RunFolder folder;
  RunContext context = small_job(folder.path(), 5);
  context.config.openings.texts = {"a", "bab"};
  EXPECT_THROW(make_openings(context), ConfigError);
}

TEST(GenerationStage, RefusesAPlanForAnotherPolicy) {
  const io::test::RunFolder folder;
  RunContext context = small_job(folder.path(), 5);
  for (const std::uint64_t other : {4U, 6U})
    EXPECT_THROW(driven(context, plan_for(context, other)), ProtocolError);
}

}  // namespace
}  // namespace rollcall::run
