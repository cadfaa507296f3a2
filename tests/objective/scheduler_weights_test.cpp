// What the scheduler asks of the update: weights of whole groups, and rollouts that count in their
// group's statistics only.
#include "evaluate_step.hpp"
#include "objective/reach.hpp"
#include "objective/recipes.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace rollcall::objective::test {
namespace {

struct Asked {
  std::vector<double> weight, trains;
};

Result train(const Objective& objective, const PlainStep& step, const Asked& asked) {
  StepColumns columns = step.columns();
  if (!asked.weight.empty()) columns.group_weight = at::tensor(asked.weight, at::kDouble);
  if (!asked.trains.empty()) columns.trains = at::tensor(asked.trains, at::kDouble);
  const auto prepared = objective.prepare(columns);
  const MicroBatchLoss loss = objective.evaluate(*prepared, step.micro_batch(step.all()));
  return {loss.loss, values(loss.dlogprob), values(loss.dentropy), {}, merge(*prepared, {loss})};
}

/// Groups {1, 0}, {1, 0, 0}, one token a rollout, on-policy.
PlainStep two_groups() {
  PlainStep step;
  for (const auto& [group, reward] :
       std::vector<std::pair<std::int64_t, double>>{{0, 1}, {0, 0}, {1, 1}, {1, 0}, {1, 0}}) {
    PlainRollout r;
    r.group = group, r.reward = reward, r.key = std::int64_t(step.rollouts.size()) + 1;
    for (auto* column : {&r.now, &r.old, &r.rollout, &r.reference})
      column->assign(1, std::log(0.5));
    r.entropy.assign(1, 1.0);
    step.rollouts.push_back(std::move(r));
  }
  return step;
}

const Settings kPlain = {{"advantage", "group_center"}, {"aggregate", "token-mean"}};

// Advantages 1/2, -1/2 | 2/3, -1/3, -1/3; the derivative of a token is -A / 5 at ratio 1.
TEST(SchedulerWeights, MultiplyTheAdvantagesOfTheirGroup) {
  const Objective objective("grpo", kPlain);
  const Result r = train(objective, two_groups(), {{0.5, 3.0}, {}});
  const Column expected = {-0.05, 0.05, -0.4, 0.2, 0.2};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(r.derivative[i], expected[i], 1e-12) << i;
  EXPECT_NEAR(r.metrics.at("critic/advantages/max"), 2.0, 1e-12);
}

// The last rollout does not train: the mean reward of its group stays 1/3, and four tokens share
// the loss.
TEST(SchedulerWeights, RolloutsThatDoNotTrainCountInTheirGroupOnly) {
  const Objective objective("grpo", kPlain);
  const Result r = train(objective, two_groups(), {{}, {1, 1, 1, 1, 0}});
  const Column expected = {-0.125, 0.125, -1.0 / 6, 1.0 / 12, 0};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(r.derivative[i], expected[i], 1e-12) << i;
}

TEST(SchedulerWeights, RolloutsThatDoNotTrainAreDroppedAsAWeightPieceDropsThem) {
  PlainStep step = two_groups();
  step.rollouts[2].truncated = step.rollouts[4].truncated = true;
  for (const char* recipe : {"grpo", "dapo", "rloo", "gspo"}) {
    const Result by_piece = train(
        Objective(recipe, {{"weight", "drop_truncated"}, {"regularizer", "entropy"}}), step, {});
    const Result by_scheduler =
        train(Objective(recipe, {{"weight", "none"}, {"regularizer", "entropy"}}), step,
              {{}, {1, 1, 0, 1, 0}});
    EXPECT_EQ(by_piece.loss, by_scheduler.loss) << recipe;
    EXPECT_EQ(by_piece.derivative, by_scheduler.derivative) << recipe;
    EXPECT_EQ(by_piece.entropy_derivative, by_scheduler.entropy_derivative) << recipe;
    EXPECT_NE(by_piece.derivative,
              train(Objective(recipe, {{"weight", "none"}, {"regularizer", "entropy"}}), step, {})
                  .derivative)
        << recipe;
  }
}

TEST(SchedulerWeights, OnesChangeNoBit) {
  for (const auto& recipe : recipe_names()) {
    const Objective objective(recipe);
    if (!objective.columns().empty() || objective.needs_value()) continue;
    const Result plain = train(objective, two_groups(), {}),
                 ones = train(objective, two_groups(), {{1, 1}, {}});
    EXPECT_EQ(plain.loss, ones.loss) << recipe;
    EXPECT_EQ(plain.derivative, ones.derivative) << recipe;
  }
}

TEST(SchedulerWeights, ChangeALossExactlyWhereItReadsAdvantages) {
  for (const auto& recipe : recipe_names()) {
    const Objective objective(recipe);
    bool differs = false;
    for (std::uint32_t seed = 0; seed < 20 && !differs; ++seed) {
      const PlainStep step = random_step({5, 4, 3}, seed, 0.3);
      differs = train(objective, step, {}).derivative !=
                train(objective, step, {{0.5, 3.0, 2.0}, {}}).derivative;
    }
    EXPECT_EQ(differs, reads_advantage(objective)) << recipe;
  }
  EXPECT_TRUE(reads_advantage(Objective("dypo")));
  EXPECT_FALSE(reads_advantage(Objective("dypo", {}, {{"alignment_alpha", "0"}})));
}

TEST(SchedulerWeights, WhatIsReportedIsWithoutThem) {
  const Objective objective("grpo", kPlain);
  PlainStep step = two_groups();
  for (auto* column : {&step.rollouts[0].now, &step.rollouts[0].old, &step.rollouts[0].rollout,
                       &step.rollouts[0].reference})
    column->clear();
  step.rollouts[0].entropy.clear();  // a rollout without a token
  StepColumns columns = step.columns();
  columns.group_weight = at::tensor(std::vector<double>{0.0, 3.0}, at::kDouble);
  columns.trains = at::tensor(std::vector<double>{1, 1, 1, 1, 0}, at::kDouble);
  const auto prepared = objective.prepare(columns);
  const Column size = Objective::rollout_advantages(*prepared),
               loss = objective.evaluate(*prepared, step.micro_batch(step.all())).rollout_loss;
  // -A at ratio 1
  const Column expected_size = {0, 0.5, 2.0 / 3, 1.0 / 3, 1.0 / 3},
               expected_loss = {0, 0.5, -2.0 / 3, 1.0 / 3, 1.0 / 3};
  EXPECT_TRUE(std::isnan(size[0]) && std::isnan(loss[0]));
  for (std::size_t i = 1; i < 5; ++i) {
    EXPECT_NEAR(size[i], expected_size[i], 1e-12) << i;
    EXPECT_NEAR(loss[i], expected_loss[i], 1e-12) << i;
  }
}

}  // namespace
}  // namespace rollcall::objective::test
