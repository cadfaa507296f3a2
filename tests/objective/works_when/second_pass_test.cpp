// What the papers on help and second passes promise of their losses.
#include "works_when/small_step.hpp"

#include "core/derivation.hpp"

#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

Result run(const std::string& recipe, const PlainStep& step, const Settings& pieces = {},
           const Settings& knobs = {}) {
  return evaluate(Objective(recipe, pieces, knobs), step);
}

TEST(WorksWhen, scaf_grpo_one_success_revives_a_group_of_eight) {
  PlainStep step = answers(std::vector<Answer>(8, {0, 0.0}));
  EXPECT_EQ(plain_advantage("group_norm", step), Column(8, 0.0));
  step.rollouts[3].reward = 1.0;
  const Column a = per_rollout(step, at::tensor(plain_advantage("group_norm", step), at::kDouble));
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(a[i], i == 3 ? 2.475 : -0.354, 5e-4);
  const Column pushed = run("grpo", step).derivative;
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(pushed[i], -a[i] / 8, 1e-12);
}

/// Four answers without help, one of them right, and four with, of which three are.
PlainStep with_help() {
  PlainStep step = answers({{0, 1.0, 3},
                            {0, 0.0, 3},
                            {0, 0.0, 3},
                            {0, 0.0, 3},
                            {0, 1.0, 3},
                            {0, 1.0, 3},
                            {0, 1.0, 3},
                            {0, 0.0, 3}});
  for (std::size_t i = 4; i < 8; ++i)
    step.rollouts[i].tier = 1, step.rollouts[i].given = {1.0, 1.0, 0.0};
  return step;
}

TEST(WorksWhen, adhint_help_does_not_push_down_what_was_said_without) {
  const Column a = per_rollout(
      with_help(), at::tensor(plain_advantage("hinted_groups", with_help()), at::kDouble));
  EXPECT_TRUE(near(a, {0.75, -0.25, -0.25, -0.25, 0.25, 0.25, 0.25, -0.75}));
  const Column mixed = per_rollout(
      with_help(), at::tensor(plain_advantage("group_center", with_help()), at::kDouble));
  EXPECT_NEAR(mixed[0], 0.5, 1e-12);
}

TEST(WorksWhen, adhint_given_tokens_of_a_failed_rollout_are_left_alone) {
  const Settings pulled{{"regularizer", "kl"}}, knobs{{"kl_coef", "0.3"}};
  PlainStep step = with_help();
  for (auto& r : step.rollouts) r.reference.assign(3, std::log(0.25));
  const Column derivative = run("adhint", step, pulled, knobs).derivative;
  EXPECT_EQ(derivative[21], 0.0);
  EXPECT_EQ(derivative[22], 0.0);
  EXPECT_NE(derivative[23], 0.0);
  for (std::size_t t = 12; t < 21; ++t) EXPECT_NE(derivative[t], 0.0) << t;
  // Words of which the policy would not have thought pull less, and never more.
  step.rollouts[4].old[0] = step.rollouts[4].now[0] = step.rollouts[4].rollout[0] = std::log(0.05);
  step.rollouts[5].old[0] = step.rollouts[5].now[0] = step.rollouts[5].rollout[0] = std::log(0.9);
  const Column natural = run("adhint", step).derivative;
  EXPECT_NEAR(natural[12], 0.1 * natural[13], 1e-12);
  EXPECT_NEAR(natural[15], natural[16], 1e-12);
}

TEST(WorksWhen, critique_grpo_lifts_what_was_unlikely) {
  PlainStep step = answers({{0, 0.0}, {0, 0.0}, {0, 1.0, 2}});
  step.rollouts[2].derived = double(DerivedKind::refinement);
  step.rollouts[2].now = step.rollouts[2].old = {std::log(0.1), std::log(0.9)};
  const Column a = plain_advantage("group_norm", step), d = run("critique-grpo", step).derivative;
  EXPECT_NEAR(d[2] * 4 / -a[2], 0.25, 1e-12);
  EXPECT_NEAR(d[3] * 4 / -a[3], 0.09, 1e-12);
  EXPECT_NEAR(d[0] * 4 / -a[0], 1.0, 1e-12) << "own answers have a ratio";
  step.rollouts[2].derived = double(DerivedKind::reflection);
  EXPECT_NEAR(run("critique-grpo", step).derivative[2] * 4 / -a[2], 1.0, 1e-12)
      << "what was asked in its own prompt is no refinement";
}

TEST(WorksWhen, int_learns_nothing_behind_the_intervention) {
  PlainStep step = answers({{0, 1.0, 2}, {0, 0.0, 2}, {1, 0.0, 4}, {2, 1.0, 4}});
  for (const std::size_t i : {2UL, 3UL}) step.rollouts[i].given = {1.0, 1.0, 0.0, 0.0};
  const Column all = run("int-intervention-training", step).derivative,
               right =
                   run("int-intervention-training", step, {}, {{"given_of", "correct"}}).derivative;
  EXPECT_TRUE(
      near(Column(all.begin() + 4, all.end()), {-0.25, -0.25, 0.0, 0.0, -0.25, -0.25, 0.0, 0.0}));
  EXPECT_TRUE(
      near(Column(right.begin() + 4, right.end()), {0.0, 0.0, 0.0, 0.0, -0.5, -0.5, 0.0, 0.0}));
  EXPECT_NE(all[0], 0.0);
}

TEST(WorksWhen, seppo_does_not_push_down_a_counterpart_that_was_right) {
  PlainStep step = answers({{0, 1.0}, {0, 0.0}, {0, 0.5}, {0, 0.0}});
  for (const std::size_t i : {2UL, 3UL})
    step.rollouts[i].derived = double(DerivedKind::counterpart);
  const auto derivative = [&](const Settings& knobs) {
    return run("seppo", step, {}, knobs).derivative;
  };
  const Column one = derivative({});  // correct: the rollouts of a reward above 0
  EXPECT_LT(one[0], 0.0);
  EXPECT_EQ(one[1], 0.0) << "an own failure is in no pair";
  EXPECT_EQ(one[2], 0.0) << "nor is a counterpart that was right";
  EXPECT_GT(one[3], 0.0);
  step.rollouts[2].correct = 0.0;
  EXPECT_GT(derivative({})[2], 0.0);
  EXPECT_GT(derivative({{"pair_losers", "any"}})[1], 0.0);
}

/// The mean over all pairs of a step counts those that have a weight.
TEST(WorksWhen, seppo_pairs_of_a_step_are_those_with_a_weight) {
  PlainStep step = answers({{0, 1.0}, {0, 0.0}, {1, 1.0}, {1, 0.0}, {1, 0.0}});
  step.rollouts[1].derived = step.rollouts[3].derived = double(DerivedKind::counterpart);
  const Result all = run("seppo", step, {{"aggregate", "token-mean"}}, {{"pair_mean", "step"}});
  EXPECT_NEAR(all.loss, std::log(2.0), 1e-12);
  EXPECT_NEAR(all.derivative[0], -0.1 / 2 / 2, 1e-12);
  EXPECT_EQ(all.derivative[4], 0.0);
}

}  // namespace
}  // namespace rollcall::objective::test
