// What the corrections for a disagreeing sampler promise, in numbers.
#include "evaluate_step.hpp"
#include "hand_worked/ratio_steps.hpp"
#include "objective/pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rollcall::objective::test {
namespace {

TokenWeight weight_of(const std::string& name, const PlainStep& plain, const Settings& settings) {
  Knobs knobs;
  knobs.enter("weight", name);
  const auto table = weights();
  const auto piece = std::find_if(table.begin(), table.end(), [&](const auto& p) {
                       return p.name == name;
                     })->make(knobs);
  for (const auto& [key, value] : settings) knobs.set(key, value);
  Step step(plain.columns());
  step.advantage = at::ones({step.shape.tokens}, at::kDouble);
  return piece(step);
}

bool all_equal(const Column& column, double value) {
  return std::all_of(column.begin(), column.end(), [&](double x) { return near(x, value); });
}

const std::vector<std::string> corrected = {
    "decoupled_token_is", "decoupled_seq_is", "decoupled_token_icepop", "decoupled_seq_is_rs",
    "decoupled_geo_rs",   "decoupled_k3_rs",  "seq_mask_tis",           "mis",
    "bypass_ppo_clip"};

TEST(WorksWhen, corrections_change_nothing_where_the_sampler_is_the_old_policy) {
  for (const auto& row : corrected) {
    EXPECT_TRUE(rc::check(row, [&] {
      PlainStep step = any_step(0.5);
      for (auto& r : step.rollouts) r.rollout = r.old;
      RC_ASSERT(near(evaluate(Objective(row), step).derivative,
                     evaluate(Objective("grpo"), step).derivative));
    }));
  }
}

TEST(WorksWhen, areal_with_equal_behaviour_and_proximal_policy_is_ppo) {
  EXPECT_TRUE(rc::check([] {
    PlainStep step = any_step(0.5);
    for (auto& r : step.rollouts) r.rollout = r.old;
    const Result a = evaluate(Objective("areal"), step),
                 b = evaluate(Objective("grpo", {{"advantage", "group_whiten"},
                                                 {"aggregate", "token-mean"}}),
                              step);
    RC_ASSERT(a.loss == b.loss && a.derivative == b.derivative);
  }));
}

TEST(WorksWhen, areal_advantages_have_unit_spread_over_the_batch) {
  // A dead group beside a live one of equal lengths: 1/sqrt(2), -1/sqrt(2), 0, 0 has spread
  // 1/sqrt(3) (n - 1): A = +-sqrt(3/2) = 1.22474, 0, 0.
  PlainStep step = worked_step();
  step.rollouts = {step.rollouts[1], step.rollouts[1], step.rollouts[1], step.rollouts[1]};
  step.rollouts[0].reward = 1.0, step.rollouts[2].group = step.rollouts[3].group = 1;
  for (auto& r : step.rollouts) r.now = r.old;
  const Column d = evaluate(Objective("areal"), step).derivative;
  EXPECT_NEAR(d[0], -1.22474 / 4, 1e-5);
  EXPECT_NEAR(d[1], 1.22474 / 4, 1e-5);
  EXPECT_NEAR(d[2], 0.0, 1e-12);
}

TEST(WorksWhen, importance_and_reject_equal_their_loops_under_every_setting) {
  for (const std::string scope : {"token", "product", "mean"}) {
    for (const std::string outside : {"cap", "zero"}) {
      EXPECT_TRUE(rc::check("importance " + scope + " " + outside, [&] {
        PlainStep step = any_step(0.8);
        const Settings settings = {{"importance_scope", scope},
                                   {"importance_outside", outside},
                                   {"importance_low", "0.6"},
                                   {"importance_high", "1.4"}};
        step.knobs = {settings.begin(), settings.end()};
        RC_ASSERT(near(values(weight_of("importance", step, settings).factor),
                       plain_pieces().weight.at("importance")(step, {}).factor));
      }));
    }
  }
  for (const std::string statistic : {"k1", "k2", "k3"}) {
    for (const std::string scope : {"token", "seq_sum", "seq_mean", "seq_max"}) {
      EXPECT_TRUE(rc::check("reject " + statistic + " " + scope, [&] {
        PlainStep step = any_step(0.5);
        const Settings settings = {{"reject_statistic", statistic},
                                   {"reject_scope", scope},
                                   {"reject_low", "0.7"},
                                   {"reject_high", statistic == "k1" ? "1.3" : "0.1"}};
        step.knobs = {settings.begin(), settings.end()};
        RC_ASSERT(near(values(weight_of("reject", step, settings).keep),
                       plain_pieces().weight.at("reject")(step, {}).keep));
      }));
    }
  }
}

TEST(WorksWhen, normalised_weights_have_mean_one) {
  // Token weights 1.8, 0.2, 1: mean 1 already. 1.8, 0.2, 4 held at 2: mean 4/3.
  const Settings token = {{"importance_normalize", "yes"}};
  EXPECT_TRUE(
      near(values(weight_of("importance", ratio_step({1, 1}, {1}, {1.8, 0.2, 1.0}), token).factor),
           {1.8, 0.2, 1.0}));
  EXPECT_TRUE(
      near(values(weight_of("importance", ratio_step({1, 1}, {1}, {1.8, 0.2, 4.0}), token).factor),
           {1.35, 0.15, 1.5}));
  // Products 1.5 and 0.5 of two rollouts: mean 1, whatever their lengths.
  const Settings product = {{"importance_normalize", "yes"}, {"importance_scope", "product"}};
  EXPECT_TRUE(near(
      values(weight_of("importance", ratio_step({1, 1}, {1}, {1.5, 1.0, 0.5}), product).factor),
      {1.5, 1.5, 0.5}));
}

TEST(WorksWhen, opposite_errors_cancel_in_k1_and_not_in_k3) {
  const PlainStep step = ratio_step({1, 1}, {1}, {2.0, 0.5, 1.0});
  EXPECT_TRUE(all_equal(
      values(weight_of(
                 "reject", step,
                 {{"reject_scope", "seq_mean"}, {"reject_low", "0.999"}, {"reject_high", "1.001"}})
                 .keep),
      1.0));
  const Settings k3 = {
      {"reject_scope", "seq_mean"}, {"reject_statistic", "k3"}, {"reject_high", "0.01"}};
  EXPECT_EQ(values(weight_of("reject", step, k3).keep), (Column{0, 0, 1}));
}

TEST(WorksWhen, opsm_looks_at_bad_rollouts_in_one_direction) {
  // Sampler over current 1/0.6 on all tokens: the bad rollout drops, the good one stays; at 1/1.7
  // both stay.
  const Objective row("opsm");
  EXPECT_EQ(evaluate(row, ratio_step({1.0}, {1.0}, {0.6, 0.6})).derivative.back(), 0.0);
  EXPECT_LT(evaluate(row, ratio_step({1.0}, {1.0}, {0.6, 0.6})).derivative.front(), 0.0);
  EXPECT_GT(evaluate(row, ratio_step({1.0}, {1.0}, {1.7, 1.7})).derivative.back(), 0.0);
  // Only the rollout's mean counts: 1/0.5 and 1/4 average to less than 1.
  EXPECT_GT(evaluate(row, ratio_step({1.0}, {1.0, 1.0}, {1.0, 0.5, 4.0})).derivative.back(), 0.0);
}

TEST(WorksWhen, deepseek_v32_kl_has_the_importance_weighted_derivative) {
  EXPECT_TRUE(rc::check([] {
    PlainStep step = any_step(0.5);
    for (auto& r : step.rollouts) r.reward = 0.0;  // no policy loss
    const Column c = plain_aggregate("seq-mean-token-mean", step),
                 got = evaluate(Objective("deepseek_v32"), step).derivative;
    std::size_t token = 0;
    for (const auto& r : step.rollouts) {
      for (std::size_t t = 0; t < r.length(); ++t, ++token) {
        RC_ASSERT(near(got[token], 0.04 * c[token] * std::exp(r.now[t] - r.rollout[t]) *
                                       (r.now[t] - r.reference[t])));
      }
    }
  }));
}

TEST(WorksWhen, kl_from_the_rollout_policy) {
  EXPECT_TRUE(rc::check([] {
    PlainStep step = any_step(0.5);
    for (auto& r : step.rollouts) r.reward = 0.0;
    const Settings pieces = {{"advantage", "group_center"}, {"regularizer", "kl"}};
    const Result rollout = evaluate(Objective("grpo", pieces, {{"kl_anchor", "rollout"}}), step);
    for (auto& r : step.rollouts) r.reference = r.rollout;
    RC_ASSERT(rollout.derivative ==
              evaluate(Objective("grpo", pieces, {{"kl_anchor", "reference"}}), step).derivative);
  }));
}

TEST(WorksWhen, scalerl_weighs_against_the_policy_that_generated) {
  // Both are where the update starts, but the sampler had half their probability: weights 2 in
  // front of +-1, mean over two tokens.
  PlainStep step = ratio_step({1.0}, {1.0}, {2.0, 2.0});
  EXPECT_TRUE(near(evaluate(Objective("scalerl"), step).derivative, {-1.0, 1.0}));
}

}  // namespace
}  // namespace rollcall::objective::test
