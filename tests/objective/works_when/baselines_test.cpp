// What the papers with other baselines and spreads promise, in numbers.
#include "objective/advantage/baseline_scale.hpp"
#include "objective/advantage/beta_norm.hpp"
#include "objective/advantage/bundle_risk.hpp"
#include "objective/advantage/decoupled_norm.hpp"
#include "objective/advantage/group_median.hpp"
#include "objective/advantage/group_norm.hpp"
#include "objective/advantage/outcome_weights.hpp"
#include "objective/advantage/paired_outcomes.hpp"
#include "objective/advantage/prior_shrinkage.hpp"
#include "objective/advantage/virtual_best.hpp"
#include "objective/weight/drop_equal_reward.hpp"
#include "objective/weight/drop_pivot.hpp"
#include "works_when/small_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
auto about(double x, double within = 1e-3) { return DoubleNear(x, within); }

double kept(const TokenWeight& w) { return w.keep.sum().item<double>(); }

TEST(WorksWhen, mc_grpo_centres_on_the_median_and_trains_one_less) {
  const PlainStep three = answers({{0, 0.0}, {0, 0.2}, {0, 1.0}});
  GroupMedian piece;
  piece.eps = 1e-12;
  // -1, 0, 4 times the released 3 / 2
  EXPECT_THAT(advantages_of(piece, three), ElementsAre(about(-1.5), about(0), about(6)));
  EXPECT_EQ(kept(DropPivot()(Step(three.columns()))), 2);
  // 0/1 rewards of an odd group: exactly one goes although several are the median, and no advantage
  // explodes.
  const PlainStep binary = answers({{0, 0.0}, {0, 0.0}, {0, 1.0}, {0, 0.0}, {0, 0.0}});
  EXPECT_EQ(kept(DropPivot()(Step(binary.columns()))), 4);
  // five rollouts over one that differs
  for (const double a : advantages_of(GroupMedian(), binary)) EXPECT_LT(std::abs(a), 5 * 3.0);
}

TEST(WorksWhen, mc_grpo_flips_fewer_signs_than_the_mean) {
  // Rewards with rare large outliers. A sign is flipped where it differs from that against the same
  // baseline of a thousand rewards.
  std::mt19937 engine(3);
  const auto draw = [&] { return engine() % 10 == 0 ? 10.0 : double(engine() % 1000) / 1000.0; };
  std::vector<double> all;
  double mean = 0;
  for (int i = 0; i < 1000; ++i) all.push_back(draw()), mean += all.back() / 1000;
  const double median = GroupMedian::median(all);
  int by_mean = 0, by_median = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const PlainStep step = answers({{0, draw()}, {0, draw()}, {0, draw()}});
    const Column from_mean = advantages_of(GroupNorm(), step),
                 from_median = advantages_of(GroupMedian(), step);
    for (std::size_t i = 0; i < 3; ++i) {
      const double reward = step.rollouts[i].reward;
      by_mean += from_mean[i] * (reward - mean) < 0,
          by_median += from_median[i] * (reward - median) < 0;
    }
  }
  EXPECT_LT(by_median, by_mean);
}

TEST(WorksWhen, bnpo_divides_by_the_fitted_density) {
  const PlainStep step =
      answers({{0, 1.0}, {0, 0.0}, {0, 0.0}, {0, 0.0}, {1, 1.0}, {1, 1.0}, {1, 1.0}, {1, 0.0}});
  const auto [alpha, beta] =
      BetaNorm::fit(at::tensor({0.25, 0.75}, at::kDouble), at::ones({2}, at::kDouble));
  EXPECT_NEAR(alpha, 1.16667, 1e-5);
  EXPECT_NEAR(beta, 1.16667, 1e-5);
  const Column a = advantages_of(BetaNorm(), step);
  EXPECT_NEAR(a[0], 0.7166, 1e-4);
  EXPECT_NEAR(a[1], -0.2389, 1e-4);
  // Equal pass rates leave alpha = beta = 1, and with it R - p to the bit.
  EXPECT_THAT(advantages_of(BetaNorm(), answers({{0, 1.0}, {0, 0.0}, {1, 1.0}, {1, 0.0}})),
              ElementsAre(0.5, -0.5, 0.5, -0.5));
}

TEST(WorksWhen, bnpo_maps_rewards_and_takes_components_apart) {
  PlainStep step =
      answers({{0, 1.0}, {0, -1.0}, {0, -1.0}, {0, -1.0}, {1, 1.0}, {1, 1.0}, {1, 1.0}, {1, -1.0}});
  BetaNorm mapped;
  mapped.low = -1.0;
  const Column a = advantages_of(mapped, step);  // as for rewards 1 and 0
  EXPECT_NEAR(a[0], 0.7166, 1e-4);
  EXPECT_NEAR(a[1], -0.2389, 1e-4);
  // Two components: one with those rates, one always 1, whose advantages are 0. The mean is half.
  for (auto& r : step.rollouts) r.components = {{"x", r.reward > 0 ? 1.0 : 0.0}, {"y", 1.0}};
  BetaNorm apart;
  apart.components = BetaNorm::Components::mean;
  EXPECT_NEAR(advantages_of(apart, step)[0], 0.3583, 1e-4);
}

TEST(WorksWhen, psr_nsr_w_reinforce_weighs_outcomes_and_drops_a_side) {
  const PlainStep step = answers({{0, 1.0}, {0, 0.0}});
  EXPECT_THAT(advantages_of(OutcomeWeights(), step), ElementsAre(about(0.1, 1e-15), -1.0));
  const Objective negative_only("psr-nsr-w-reinforce", {}, {{"positive_weight", "0"}});
  const Result r = evaluate(negative_only, step);
  EXPECT_THAT(r.derivative, ElementsAre(0.0, 1.0));  // the mean is over the wrong answer alone
}

TEST(WorksWhen, ngrpo_pushes_all_wrong_groups_and_drops_all_right_ones) {
  std::vector<Answer> wrong(8, {0, 0.0}), right(8, {0, 1.0});
  for (const double a : advantages_of(VirtualBest(), answers(wrong))) EXPECT_NEAR(a, -0.3333, 1e-4);
  const Objective objective("ngrpo");
  for (const double d : evaluate(objective, answers(right)).derivative) EXPECT_EQ(d, 0.0);
  for (const double d : evaluate(objective, answers(wrong)).derivative) EXPECT_GT(d, 0.0);
  // Wrong answers that earned 0.1 for their format are not solved: mean (0.8 + 1) / 9 = 0.2, so all
  // are below it and are pushed down.
  PlainStep formatted = answers(wrong);
  for (auto& r : formatted.rollouts) r.reward = 0.1;
  for (const double d : evaluate(objective, formatted).derivative) EXPECT_GT(d, 0.0);
}

TEST(WorksWhen, dler_standardises_over_the_step_and_lite_ppo_by_the_rewards) {
  const PlainStep step = answers({{0, 1.0}, {0, 0.0}, {1, 1.0}, {1, 1.0}});
  BaselineScale dler, lite;
  dler.recentre = dler.bessel = BaselineScale::Switch::yes;
  dler.moments = BaselineScale::Moments::tokens;
  lite.spread = BaselineScale::Spread::reward;
  // sqrt(1/2 / 3)
  EXPECT_THAT(advantages_of(dler, step),
              ElementsAre(about(1.2247), about(-1.2247), about(0), about(0)));
  EXPECT_THAT(advantages_of(lite, step),
              ElementsAre(about(1.155), about(-1.155), about(0), about(0)));
  EXPECT_EQ(kept(DropEqualReward()(Step(step.columns()))), 2);  // the second prompt leaves
  dler.groups = BaselineScale::Groups::unequal;  // and with it its zeros from the spread, as if it
                                                 // had been replaced
  EXPECT_THAT(advantages_of(dler, step),
              ElementsAre(about(0.7071), about(-0.7071), about(0), about(0)));
  // Over tokens 1/2, -1/2, -1/2, -1/2: mean -1/4, spread sqrt((9/16 + 3/16) / 3) = 1/2.
  EXPECT_THAT(advantages_of(dler, answers({{0, 1.0, 1}, {0, 0.0, 3}})),
              ElementsAre(about(1.5), about(-0.5)));
}

TEST(WorksWhen, dler_an_accepted_answer_may_gain_a_bonus) {
  // Two right answers, one of them cut off, and a wrong one. Their rewards are 1, 0 and 0: mean
  // 1/3, spread sqrt(2) / 3.
  PlainStep step = answers({{0, 1.0}, {0, 0.0}, {0, 0.0}});
  step.rollouts[1].correct = 1.0;
  BaselineScale dler;
  dler.bonus = 0.1;
  const double h = std::sqrt(0.5);
  EXPECT_THAT(advantages_of(dler, step),
              ElementsAre(about(2 * h + 0.1, 1e-12), about(-h + 0.1, 1e-12), about(-h, 1e-12)));
  const auto columns = [](const Settings& knobs) { return Objective("dler", {}, knobs).columns(); };
  EXPECT_THAT(columns({{"accepted_bonus", "0.1"}}), ::testing::Contains("correct"));
  EXPECT_THAT(columns({}), ::testing::Not(::testing::Contains("correct")));
}

TEST(WorksWhen, dler_an_answer_above_the_target_length_is_wrong) {
  // Both right; one has 5 tokens where 4 may earn: rewards 1, 0. Over the 8 tokens: mean -1/8,
  // deviations 5/8 and -3/8, spread sqrt(1.875 / 7).
  const PlainStep step = answers({{0, 1.0, 3}, {0, 1.0, 5}});
  const Column d = evaluate(Objective("dler", {}, {{"target_length", "4"}}), step).derivative;
  EXPECT_NEAR(d[0], -5.0 / 64 / std::sqrt(1.875 / 7), 1e-12);
  EXPECT_NEAR(d[7], 3.0 / 64 / std::sqrt(1.875 / 7), 1e-12);
  for (const double x : evaluate(Objective("dler", {}, {{"target_length", "5"}}), step).derivative)
    EXPECT_EQ(x, 0.0);
}

TEST(WorksWhen, spo_single_stream_and_mssr_have_no_forced_zero) {
  PlainStep step = answers({{0, 1.0}, {1, 1.0}, {2, 1.0}});
  step.rollouts[0].prior = 0.7222, step.rollouts[1].prior = 0.6, step.rollouts[2].prior = 0.3;
  BaselineScale piece;
  piece.baseline = BaselineScale::Baseline::prior, piece.recentre = BaselineScale::Switch::yes;
  const Column a = advantages_of(piece, step);
  EXPECT_NEAR(a[0] + a[1] + a[2], 0.0, 1e-12);
  EXPECT_NEAR((a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) / 3, 1.0, 1e-12);
  for (const double x : a) EXPECT_NE(x, 0.0);
}

TEST(WorksWhen, mssr_and_spo_subtract_the_fading_success_over_different_spreads) {
  PlainStep step = answers({{0, 1.0}, {1, 1.0}, {2, 1.0}});
  step.rollouts[0].prior = 0.2, step.rollouts[0].posterior = 0.6;
  // mean over three tokens
  const auto first = [&](const char* row) {
    return -3.0 * evaluate(Objective(row, {{"weight", "none"}}), step).derivative[0];
  };
  // 0.8, 0.5, 0.5: mean 0.6, the first 0.2 over a spread of sqrt(0.06 / 3) with n, sqrt(0.06 / 2)
  // with n - 1. What does not fade stays out of it.
  EXPECT_NEAR(first("mssr"), std::sqrt(2.0), 1e-9);
  EXPECT_NEAR(first("spo-single-stream"), 2 / std::sqrt(3.0), 1e-9);
}

TEST(WorksWhen, v0_5_trusts_the_prior_within_the_noise) {
  PriorShrinkage piece;
  piece.low = -1.0;
  const auto baseline = [&](double right, double prior) {
    PlainStep step = answers({{0, right > 0 ? 1.0 : -1.0},
                              {0, right > 1 ? 1.0 : -1.0},
                              {0, right > 2 ? 1.0 : -1.0},
                              {0, right > 3 ? 1.0 : -1.0}});
    for (auto& r : step.rollouts) r.predicted = prior;
    return step.rollouts[0].reward - advantages_of(piece, step)[0];
  };
  EXPECT_NEAR(baseline(3, 0.25), 0.25, 1e-12);  // mean 0.5, V -0.5
  EXPECT_NEAR(baseline(2, 0.3), -0.4, 1e-12);   // mean 0, V -0.4
}

TEST(WorksWhen, wgrpo_rare_success_and_rare_failure_are_the_largest) {
  std::vector<Answer> pair;
  for (int i = 0; i < 8; ++i) pair.push_back({0, i == 0 ? 1.0 : 0.0});  // 1 of 8
  for (int i = 0; i < 8; ++i) pair.push_back({1, i == 0 ? 0.0 : 1.0});  // 7 of 8
  // Outcomes 4, seven of -1, -4, seven of 1: mean 0, spread sqrt((32 + 14) / 16) = 1.6956.
  const Column a = advantages_of(PairedOutcomes(), answers(pair));
  EXPECT_NEAR(a[0], 2.3591, 1e-4);
  EXPECT_NEAR(a[8], -2.3591, 1e-4);
  for (const std::size_t i : {1, 2, 3, 4, 5, 6, 7}) EXPECT_NEAR(a[i], -0.5898, 1e-4);
  for (const std::size_t i : {9, 10, 11, 12, 13, 14, 15}) EXPECT_NEAR(a[i], 0.5898, 1e-4);
}

TEST(WorksWhen, riskpo_scores_bundles_and_tracks_quantiles) {
  BundleRisk piece;
  const double natural[] = {-5, -2, -1.3333, -0.6667, 0, 0},
               released[] = {-3, 0, 0.6667, 1.3333, 2, 2};
  for (int s = 0; s < 6; ++s) {
    piece.natural = BundleRisk::Natural::yes;
    EXPECT_NEAR(piece.risk(s, 1, 4), natural[s], 1e-4);
    piece.natural = BundleRisk::Natural::no;
    EXPECT_NEAR(piece.risk(s, 1, 4), released[s], 1e-4);
  }
  // Scores uniform on 0 .. 1: single prompts, many steps. The quantiles approach 0.2 and 0.8.
  piece.size = 1;
  std::map<std::string, double> state;
  std::mt19937 engine(5);
  for (int step_index = 0; step_index < 400; ++step_index) {
    std::vector<Answer> list;
    for (int g = 0; g < 40; ++g) list.push_back({g, double(engine() % 10007) / 10007.0});
    PlainStep step = answers(list);
    step.statistics = state;
    state = piece(Step(step.columns())).statistics;
  }
  EXPECT_NEAR(state.at("risk_low"), 0.2, 0.08);
  EXPECT_NEAR(state.at("risk_high"), 0.8, 0.08);
}

TEST(WorksWhen, gdpo_weights_the_components) {
  // Right and unformatted against wrong and formatted: equal weights cancel, a weight of 0 leaves
  // correctness alone.
  PlainStep step = answers({{0, 1.0}, {0, 0.0}});
  step.rollouts[0].components = {{"correct", 1.0}, {"format", 0.0}},
  step.rollouts[1].components = {{"correct", 0.0}, {"format", 1.0}};
  DecoupledNorm piece;
  EXPECT_THAT(advantages_of(piece, step), ElementsAre(about(0), about(0)));
  piece.weights.given = {{"format", 0.0}};
  EXPECT_THAT(advantages_of(piece, step), ElementsAre(about(0.7071), about(-0.7071)));
}

TEST(WorksWhen, riskpo_divides_by_the_spread_of_its_bundle) {
  // One bundle of one prompt: scores 1, 0, 0, spread 1/sqrt(3); quantiles 1 and 4: risks 0, -3, -3.
  // A bundle of equal scores divides by 1.
  BundleRisk piece;
  const double scaled = -3 * std::sqrt(3.0);
  EXPECT_THAT(advantages_of(piece, answers({{0, 1.0}, {0, 0.0}, {0, 0.0}})),
              ElementsAre(about(0), about(scaled), about(scaled)));
  EXPECT_THAT(advantages_of(piece, answers({{0, 0.0}, {0, 0.0}})),
              ElementsAre(about(-3), about(-3)));
}

TEST(WorksWhen, multi_objective_grpo_reports_every_component) {
  PlainStep step = answers({{0, 0.7}, {0, 1.0}, {0, 0.3}});
  step.rollouts[0].components = {{"x", 1.0}, {"y", 0.0}},
  step.rollouts[1].components = {{"x", 1.0}, {"y", 1.0}},
  step.rollouts[2].components = {{"x", 0.0}, {"y", 1.0}};
  const auto metrics = evaluate(Objective("grpo"), step).metrics;
  EXPECT_NEAR(metrics.at("critic/component/x/mean"), 2.0 / 3, 1e-12);
  EXPECT_NEAR(metrics.at("critic/component/y/mean"), 2.0 / 3, 1e-12);
}

TEST(WorksWhen, gdpo_keeps_mixes_of_components_apart) {
  const auto pair = [](double a, double b) {  // two answers: components (0, 0) and (a, b); the
                                              // reward is their sum
    PlainStep step = answers({{0, 0.0}, {0, a + b}});
    step.rollouts[0].components = {{"x", 0.0}, {"y", 0.0}},
    step.rollouts[1].components = {{"x", a}, {"y", b}};
    return step;
  };
  const auto before_whitening = [&](const PlainStep& plain) {
    const Step step(plain.columns());
    const DecoupledNorm piece;
    return values(piece.standardised(step, step.named("component/x")) +
                  piece.standardised(step, step.named("component/y")));
  };
  EXPECT_THAT(before_whitening(pair(1, 1)), ElementsAre(about(-1.414), about(1.414)));
  EXPECT_THAT(before_whitening(pair(1, 0)), ElementsAre(about(-0.707), about(0.707)));
  // summing first cannot tell them apart
  EXPECT_THAT(advantages_of(GroupNorm(), pair(1, 1)), ElementsAre(about(-0.707), about(0.707)));
  EXPECT_THAT(advantages_of(GroupNorm(), pair(1, 0)), ElementsAre(about(-0.707), about(0.707)));
}

}  // namespace
}  // namespace rollcall::objective::test
