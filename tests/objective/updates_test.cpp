// A step of several updates: what is taken once, what is remembered, what each update does anew.
#include "evaluate_step.hpp"
#include "objective/token_advantages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

/// One rollout of one token for each reward, each a group of its own, with this entropy where it
/// was sampled.
PlainStep lone(const std::vector<double>& rewards, double entropy = 1.0) {
  PlainStep step;
  for (const double reward : rewards) {
    PlainRollout r;
    r.group = std::int64_t(step.rollouts.size()), r.reward = reward, r.key = r.group + 1;
    for (auto* column : {&r.now, &r.old, &r.rollout, &r.reference, &r.current})
      column->assign(1, std::log(0.5));
    r.entropy.assign(1, entropy), r.old_entropy.assign(1, entropy + double(r.group)),
        r.current_entropy.assign(1, entropy);
    step.rollouts.push_back(std::move(r));
  }
  return step;
}

/// Advantages of three epochs of one update for each rollout of the step, and the statistics that
/// each epoch ends with.
struct Epochs {
  std::vector<std::vector<double>> advantages;
  std::map<std::string, double> after;
};

Epochs three_epochs(const Objective& objective, const PlainStep& step) {
  Epochs epochs;
  const auto whole = objective.prepare_step(step.columns());
  for (int epoch = 0; epoch < 3; ++epoch) {
    auto& advantages = epochs.advantages.emplace_back();
    for (const auto i : step.all()) {
      PlainStep part = step;
      part.rollouts = {step.rollouts[std::size_t(i)]};
      part.rollouts.front().group = 0;
      const auto update = objective.prepare(part.columns(), {whole, {i}});
      advantages.push_back(token_advantages(*update).front());
      EXPECT_EQ(Objective::statistics(*update), step.statistics)
          << "an update moves what is the step's";
    }
  }
  epochs.after = Objective::statistics(*whole);
  return epochs;
}

// b = 0.4 in all three epochs, then 0.95 * 0.4 + 0.05 * (1 + 0 + 0 + 1) / 4.
TEST(Updates, TheRunningBaselineMovesOnceAStep) {
  PlainStep step = lone({1, 0, 0, 1});
  step.statistics = {{"reward_mean", 0.4}};
  const Epochs epochs = three_epochs(Objective("grpo", {{"advantage", "running_baseline"}}), step);
  for (const auto& advantages : epochs.advantages)
    EXPECT_TRUE(near(advantages, {0.6, -0.4, -0.4, 0.6})) << testing::PrintToString(advantages);
  EXPECT_NEAR(epochs.after.at("reward_mean"), 0.405, 1e-12);
}

// Rewards 2, 0, 0, 2 beside two earlier ones of 1: mean 1, deviation sqrt(10 / 6 - 1); counted
// once.
TEST(Updates, MovingMomentsCountAStepOnce) {
  PlainStep step = lone({2, 0, 0, 2});
  step.statistics = {{"moving_count", 2}, {"moving_sum", 2}, {"moving_squares", 2}};
  const Epochs epochs =
      three_epochs(Objective("grpo", {{"reward", "moving_norm"}, {"advantage", "fixed_baseline"}},
                             {{"baseline", "0"}}),
                   step);
  const double one = 1 / (std::sqrt(10.0 / 6 - 1) + 1e-4);
  for (const auto& advantages : epochs.advantages)
    EXPECT_TRUE(near(advantages, {one, -one, -one, one}, 1e-9))
        << testing::PrintToString(advantages);
  EXPECT_EQ(epochs.after, (std::map<std::string, double>{
                              {"moving_count", 6}, {"moving_sum", 6}, {"moving_squares", 10}}));
}

// The entropies where the tokens were sampled are 0.1, 1.1 and 2.1: mean 1.1, the third step of a
// history whose mean is 0.5.
TEST(Updates, TheHistoryOfTheEntropyCountsAStepOnce) {
  PlainStep step = lone({1, 0, 0}, 0.1);
  step.statistics = {{"entropy_history", 0.5}, {"entropy_steps", 2}};
  const Epochs epochs = three_epochs(
      Objective("grpo", {{"reward", "entropy_history"}, {"regularizer", "entropy_band"}}), step);
  EXPECT_NEAR(epochs.after.at("entropy_history"), 0.7, 1e-12);
  EXPECT_EQ(epochs.after.at("entropy_steps"), 3);
}

// Mean entropy 0.15 in the first rollout's update, 1.15 in the step: above the goal of 0.2, so the
// coefficient falls by one step, and none of the step's updates pays a bonus.
TEST(Updates, TheEntropyControllerDecidesOnceForAllUpdatesOfAStep) {
  PlainStep step = lone({1, 0, 0}, 0.15);
  step.statistics = {{"entropy_coef", 0.003}, {"entropy_target", 0.2}};
  const Objective objective(
      "grpo", {{"reward", "entropy_controller"}, {"regularizer", "adaptive_entropy"}});
  EXPECT_NEAR(three_epochs(objective, step).after.at("entropy_coef"), 0.0029, 1e-15);
  PlainStep part = step;
  part.rollouts = {step.rollouts.front()};
  const auto update =
      objective.prepare(part.columns(), {objective.prepare_step(step.columns()), {0}});
  EXPECT_EQ(values(objective.evaluate(*update, part.micro_batch({0})).dentropy), Column{0.0});
  EXPECT_EQ(
      values(
          objective.evaluate(*objective.prepare(part.columns()), part.micro_batch({0})).dentropy),
      Column{-0.003})
      << "alone it would pay one";
}

// The second prompt's answers are both wrong, and an update of their own. They are pushed down
// where the first prompt, which another update trains, has no pair either.
TEST(Updates, AnswersArePushedOneByOneOnlyWhereTheStepHasNoPair) {
  const Objective objective("trpa", {}, {{"kl_coef", "0"}});
  const auto derivative = [&](double first_reward) {
    PlainStep step = lone({first_reward, 0, 0, 0});
    step.rollouts[1].group = 0, step.rollouts[2].group = step.rollouts[3].group = 1;
    PlainStep part = step;
    part.rollouts = {step.rollouts[2], step.rollouts[3]};
    part.rollouts[0].group = part.rollouts[1].group = 0;
    const auto update =
        objective.prepare(part.columns(), {objective.prepare_step(step.columns()), {2, 3}});
    return values(objective.evaluate(*update, part.micro_batch({0, 1})).dlogprob);
  };
  EXPECT_EQ(derivative(1.0), Column({0.0, 0.0})) << "the first prompt has a pair";
  // -log sigmoid(-l) at l = 0 has the derivative 1/2; the mean of two.
  EXPECT_TRUE(near(derivative(0.0), {0.25, 0.25}));
}

// Two updates of a token each. The old policy gives log 0.5; the first update starts there, the
// second from a policy that gives 0.25: D = log 2, more than 1.5 times the target.
TEST(Updates, AMovedCoefficientIsReportedAsTheStepBeganWithIt) {
  const Objective objective("ppo_kl_penalty");
  PlainStep step = lone({1, 0});
  const auto of_step = [&] { return merge(*objective.prepare_step(step.columns()), {}); };
  EXPECT_EQ(of_step().at("moving/kl_coef"), 1.0) << "the first step has the first coefficient";
  const auto whole = objective.prepare_step(step.columns());
  PlainStep part = step;
  part.rollouts = {step.rollouts[1]};
  part.rollouts[0].group = 0, part.rollouts[0].current = {std::log(0.25)};
  const auto update = objective.prepare(part.columns(), {whole, {1}});
  EXPECT_EQ(merge(*update, {}).at("moving/kl_coef"), 1.0) << "what it moves acts in the next one";
  EXPECT_EQ(Objective::statistics(*update).at("kl_coef"), 2.0);
  EXPECT_EQ(merge(*whole, {}).at("moving/kl_coef"), 1.0);
  step.statistics = Objective::statistics(*update);
  EXPECT_EQ(of_step().at("moving/kl_coef"), 2.0);
}

// Standardised over the tokens of the step, not of the update: rewards 1, 0, 0, 1 are +-1 /
// (sqrt(4/3) / 2).
TEST(Updates, AdvantagesAreStandardisedOverTheStep) {
  const PlainStep step = lone({1, 0, 0, 1});
  const Objective objective("grpo", {{"advantage", "batch_whiten"}});
  const Column all = token_advantages(*objective.prepare(step.columns()));
  for (const auto& advantages : three_epochs(objective, step).advantages)
    EXPECT_EQ(advantages, all);
  EXPECT_GT(all[0], 0.5);
}

// The rewards of the whole step, and nothing of an update.
TEST(Updates, FiguresOfRolloutsAreTheSteps) {
  const PlainStep step = lone({1, 0, 0, 1});
  for (const char* weight : {"none", "top_entropy"}) {
    const Objective objective("grpo", {{"advantage", "fixed_baseline"}, {"weight", weight}});
    const auto metrics = merge(*objective.prepare_step(step.columns()), {});
    EXPECT_EQ(metrics.at("critic/score/mean"), 0.5);
    EXPECT_FALSE(metrics.contains("actor/pg_loss") || metrics.contains("actor/ppo_kl"));
    EXPECT_EQ(metrics.contains("critic/advantages/mean"), std::string(weight) == "none")
        << "what trains is each update's choice: " << weight;
  }
}

TEST(Updates, WhatReadsTheirPolicyIsNamed) {
  const std::map<std::string, std::string> named = {
      {"opsm", "weight opsm acts"},
      {"vcpo", "advantage min_variance acts"},
      {"ppo_kl_penalty", "reward kl_controller acts"}};
  for (const auto& [recipe, words] : named)
    EXPECT_THAT(Objective(recipe).describe(), testing::HasSubstr(words));
  EXPECT_THAT(Objective("vcpo").describe(),
              testing::HasSubstr("weight ess_lr acts at every update"));
  EXPECT_THAT(Objective("mis").describe(), testing::Not(testing::HasSubstr("acts at every update")))
      << "importance reads the old policy here";
}

}  // namespace
}  // namespace rollcall::objective::test
