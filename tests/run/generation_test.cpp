// The generation stage by itself: what a plan's rollouts say of the policy that sampled them.
#include "run/generation/generation.hpp"

#include "base/errors/error.hpp"
#include "io/sample_run.hpp"
#include "run/context/run_context.hpp"

#include <gtest/gtest.h>

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

TEST(GenerationStage, EveryTokenNamesThePolicyThatSampledIt) {
  const io::test::RunFolder folder;
  RunContext context = small_job(folder.path(), 5);
  const RolloutShard shard = generate(context, *make_openings(context), plan_for(context, 5), 0);
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
  const RolloutShard whole = generate(context, *make_openings(context), plan, 0);
  const Derivation from{.kind = DerivedKind::pool, .parent = {9, {1}, 0}};
  plan.groups = {
      {.id = {9, {1}, 3}, .count = 3, .from = from, .samples = {1, 2, 5}, .stream_draw = 0}};
  const RolloutShard part = generate(context, *make_openings(context), plan, 0);
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
  const RolloutShard shard = generate(context, *make_openings(context), plan, 0);
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
  const auto openings = make_openings(context);
  const RolloutShard whole = generate(context, *openings, plan, 0);
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
  const RolloutShard later = generate(context, *openings, plan, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    const Rollout &one = later.groups.at(0).rollouts.at(i),
                  &same = whole.groups.at(0).rollouts.at(i + 1);
    EXPECT_EQ(one.sample, same.sample);
    EXPECT_EQ(one.text, same.text);
    EXPECT_EQ(one.turns.at(2).columns.logprob, same.turns.at(2).columns.logprob);
  }
  plan.purpose = Purpose::validation;
  for (const auto& rollout : generate(context, *openings, plan, 0).groups.at(0).rollouts)
    EXPECT_EQ(rollout.opening, 0) << "what is measured begins as its prompt ends";
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
    EXPECT_THROW(generate(context, *make_openings(context), plan_for(context, other), 0),
                 ProtocolError);
}

}  // namespace
}  // namespace rollcall::run
