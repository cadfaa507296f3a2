// What the papers that shape rewards promise, in numbers.
#include "objective/advantage/group_center.hpp"
#include "objective/advantage/group_norm.hpp"
#include "objective/reward/constrained.hpp"
#include "objective/reward/decaying_exit.hpp"
#include "objective/reward/history_length.hpp"
#include "objective/reward/kl_in_reward.hpp"
#include "objective/reward/mode_reward.hpp"
#include "objective/reward/overlong.hpp"
#include "objective/reward/pass_rate_length.hpp"
#include "objective/reward/triangular_length.hpp"
#include "objective/reward/unlikely.hpp"
#include "works_when/small_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
auto about(double x, double within = 1e-3) { return DoubleNear(x, within); }

template <class Piece>
Column shaped(const Piece& piece, const PlainStep& step) {
  return values(piece(Step(step.columns())).reward);
}

TEST(WorksWhen, dapo_overlong_grows_over_the_buffer) {
  EXPECT_THAT(shaped(Overlong(), answers({{0, 1.0, 80}, {0, 1.0, 90}, {0, 1.0, 100}})),
              ElementsAre(about(1, 1e-12), about(0.5, 1e-12), about(0, 1e-12)));
}

TEST(WorksWhen, apriel_reasoner_spares_hard_prompts) {
  // Limit 100: the buffer begins at 80, and 90 tokens are half way into it.
  const Column easy = shaped(PassRateLength(), answers({{0, 1.0, 90}, {0, 1.0, 50}}));
  std::vector<Answer> list(100, {0, 0.0, 90});
  list[0].reward = 1.0;
  PlainStep step = answers(list);
  const Column hard = shaped(PassRateLength(), step);
  EXPECT_NEAR(1.0 - easy[0], 0.5, 1e-12);
  EXPECT_EQ(easy[1], 1.0);
  EXPECT_NEAR(1.0 - hard[0], 0.005, 1e-12);
  EXPECT_NEAR(hard[1], -0.5, 1e-12);  // a wrong answer is not spared, nor is one that was cut off
  step.rollouts[0].truncated = true;
  EXPECT_NEAR(shaped(PassRateLength(), step)[0], 0.5, 1e-12);
}

TEST(WorksWhen, hapo_compares_with_the_best_so_far) {
  PlainStep step = answers({{0, 1.0, 50}, {0, 1.0, 200}, {0, 0.0, 50}, {0, 0.0, 150}}, 1000.0);
  for (auto& r : step.rollouts) r.best_length = 100;
  EXPECT_THAT(shaped(HistoryLength(), step),
              ElementsAre(about(1.7071), about(0.3), about(0), about(-0.7071)));
  for (auto& r : step.rollouts) r.best_length = 0;
  EXPECT_THAT(shaped(HistoryLength(), step), ElementsAre(1, 1, 0, 0));
}

TEST(WorksWhen, s_grpo_decays_from_the_earliest_correct_exit) {
  PlainStep step = answers({{0, 0.0, 1}, {0, 1.0, 2}, {0, 1.0, 3}, {0, 0.0, 4}, {0, 1.0, 5}});
  EXPECT_THAT(shaped(DecayingExit(), step), ElementsAre(0, 1, 0.5, 0, 0.25));
  for (std::size_t i = 0; i < 5; ++i)
    step.rollouts[i].reward = std::vector<double>{0, 1, 0.5, 0, 0.25}[i];
  EXPECT_THAT(advantages_of(GroupCenter(), step),
              ElementsAre(about(-0.35), about(0.65), about(0.15), about(-0.35), about(-0.1)));
}

TEST(WorksWhen, cgpo_mixture_of_judges_pays_nothing_for_a_violation) {
  PlainStep step = answers({{0, 5.0}, {0, 1.0}});
  step.rollouts[0].components = {{"format", 1.0}, {"safe", 0.0}},
  step.rollouts[1].components = {{"format", 1.0}, {"safe", 1.0}};
  EXPECT_THAT(shaped(Constrained(), step), ElementsAre(0, 1));
  const Column d = evaluate(Objective("cgpo-mixture-of-judges"), step).derivative;
  EXPECT_GT(d[0], 0.0);  // the exploit is pushed down
  EXPECT_LT(d[1], 0.0);
}

TEST(WorksWhen, cgpo_mixture_of_judges_takes_its_baseline_over_the_step) {
  // Rewards 1, 1 and 1, 0 are calibrated to 1/2, 1/2 and 1/2, s = sigmoid(-1): less their mean,
  // also where a prompt's rollouts are alike.
  PlainStep step = answers({{0, 1.0}, {0, 1.0}, {1, 1.0}, {1, 0.0}});
  for (auto& rollout : step.rollouts) rollout.components = {{"safe", 1.0}};
  const double gap = 0.5 - 1 / (1 + std::exp(1.0));
  EXPECT_THAT(
      evaluate(Objective("cgpo-mixture-of-judges"), step).derivative,
      ElementsAre(about(-gap / 16), about(-gap / 16), about(-gap / 16), about(3 * gap / 16)));
}

TEST(WorksWhen, thinkless_degrpo_rewards_short_success_most) {
  PlainStep step = answers({{0, 1.0, 2}, {0, 1.0, 2}, {0, 0.0, 2}});
  step.rollouts[0].token = {4, 9}, step.rollouts[1].token = {5, 4}, step.rollouts[2].token = {4, 4};
  ModeReward piece;
  piece.token = 4;
  EXPECT_THAT(shaped(piece, step), ElementsAre(1, 0.5, -1));
}

TEST(WorksWhen, unlikeliness_favours_the_rare_success) {
  // longer is less likely here
  PlainStep step = answers({{0, 1.0, 1}, {0, 1.0, 2}, {0, 1.0, 3}, {0, 0.0, 4}});
  EXPECT_THAT(shaped(Unlikely(), step),
              ElementsAre(about(0.75), about(0.8125), about(0.875), about(0)));
}

TEST(WorksWhen, rmt_budget_shrinks_and_its_reward_is_a_triangle) {
  TriangularLength piece;
  piece.share = 1.0;
  const auto at = [&](double progress, std::size_t length) {
    PlainStep step = answers({{0, 0.0, length}});
    step.progress = progress;
    return shaped(piece, step)[0];
  };
  EXPECT_NEAR(at(0.0, 800), 1.0, 1e-12);
  EXPECT_NEAR(at(0.5, 357), 1.0, 1e-12);
  EXPECT_NEAR(at(1.0, 160), 1.0, 1e-12);
  EXPECT_NEAR(at(0.0, 1200), 0.5, 1e-12);
  EXPECT_NEAR(at(0.0, 1600), 0.0, 1e-12);
}

TEST(WorksWhen, rloo_kl_can_leave_the_cost_at_its_tokens) {
  PlainStep step = answers({{0, 1.0, 2}});
  step.rollouts[0].reference[1] -= 2.0;
  KlInReward piece;
  EXPECT_THAT(shaped(piece, step), ElementsAre(about(0.9, 1e-12)));
  piece.to = KlInReward::To::token;
  const ShapedReward left = piece(Step(step.columns()));
  EXPECT_FALSE(left.reward.defined());
  EXPECT_THAT(values(left.token_reward), ElementsAre(about(0, 1e-12), about(-0.1, 1e-12)));
}

}  // namespace
}  // namespace rollcall::objective::test
