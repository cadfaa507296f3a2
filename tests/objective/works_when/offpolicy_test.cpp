// What the off-policy papers promise, in numbers.
#include "evaluate_step.hpp"
#include "hand_worked/ratio_steps.hpp"
#include "objective/pieces.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace rollcall::objective::test {
namespace {

/// Derivatives with A = +1 for the first rollout and -1 for the second, and no averaging.
Column derivative(const std::string& row, const PlainStep& ratios, const Settings& knobs = {}) {
  PlainStep step = ratios;
  step.rollouts[0].reward = 1.5, step.rollouts[1].reward = -0.5;
  return evaluate(Objective(row,
                            {{"advantage", "fixed_baseline"},
                             {"aggregate", "token-sum"},
                             {"regularizer", "none"}},
                            knobs),
                  step)
      .derivative;
}

TEST(WorksWhen, topr_tapers_bad_rollouts_only) {
  for (const auto& [ratio, weight] : {std::pair(0.5, 0.5), std::pair(3.0, 1.0)}) {
    EXPECT_TRUE(near(derivative("topr", ratio_step({ratio}, {ratio})), {-1.0, weight}));
  }
  // the whole rollout's product
  EXPECT_TRUE(near(derivative("topr", ratio_step({1.0}, {0.5, 0.5})), {-1.0, 0.25, 0.25}));
}

TEST(WorksWhen, topr_baseline_sets_the_share_of_good_rollouts) {
  // p = 1/2, c = 1/2 on rewards of -1 and 1: p (1 - c) / (1 + (1 - 2p) c) = 1/4. On 0 and 1 the
  // baseline is (1 + c) / 2 = 3/4.
  const PlainStep step = ratio_step({1.0}, {1.0});
  const Column d = evaluate(Objective("topr", {}, {{"baseline", "0.75"}}), step).derivative;
  EXPECT_NEAR(-d[0] / (-d[0] + d[1]), 0.25, 1e-12);
  EXPECT_NEAR(evaluate(Objective("topr", {}, {{"baseline", "0.75"}}), step)
                  .metrics.at("critic/positive_share"),
              0.25, 1e-12);
}

TEST(WorksWhen, rec_offpolicy_reinforce_masks_on_one_side) {
  EXPECT_TRUE(near(derivative("rec-offpolicy-reinforce", ratio_step({1.5, 0.3}, {1.5, 0.3})),
                   {0.0, -1.0, 1.0, 0.0}));
  EXPECT_TRUE(near(derivative("rec-offpolicy-reinforce", ratio_step({1.5, 1.1}, {1.5, 0.9}),
                              {{"rec_range", "two-side"}}),
                   {0.0, -1.0, 0.0, 1.0}));
  EXPECT_TRUE(near(derivative("rec_ring", ratio_step({1.5, 0.3, 0.7}, {3.5, 1.5})),
                   {0.0, -1.0, 0.0, 1.0, 0.0}));
}

TEST(WorksWhen, rec_weights) {
  const PlainStep step = ratio_step({1.5, 0.9}, {1.1});
  const auto with = [&](const std::string& weight) {
    return derivative("rec-offpolicy-reinforce", step,
                      {{"rec_range", "none"}, {"rec_weight", weight}});
  };
  EXPECT_TRUE(near(with("none"), {-1.0, -1.0, 1.0}));
  EXPECT_TRUE(near(with("ratio"), {-1.5, -0.9, 1.1}));
  EXPECT_TRUE(near(with("truncated"), {-1.2, -0.9, 1.1}));
  EXPECT_TRUE(near(with("advantage"), {-std::exp(1.0), -std::exp(1.0), std::exp(-1.0)}));
}

TEST(WorksWhen, asymre_is_a_lower_baseline) {
  EXPECT_TRUE(rc::check([] {
    const PlainStep step = any_step(0.5);
    const Column c = plain_aggregate("token-mean", step), a = plain_advantage("group_center", step);
    const Column got =
        evaluate(Objective("asymre", {}, {{"forward_kl_coef", "0.3"}}), step).derivative;
    for (std::size_t t = 0; t < c.size(); ++t) RC_ASSERT(near(got[t], -c[t] * (a[t] + 0.3), 1e-15));
  }));
}

TEST(WorksWhen, minirl_masks_by_the_old_policy_and_weighs_by_the_sampler) {
  EXPECT_TRUE(near(derivative("minirl-routing-replay", ratio_step({1.30, 1.26}, {0.79, 1.30})),
                   {0.0, -1.26, 0.0, 1.30}));
  // The sampler's record twice as likely halves the weight; recomputed old log-probs stay.
  EXPECT_TRUE(near(derivative("minirl-routing-replay", ratio_step({1.2}, {1.1}, {0.5, 0.5})),
                   {-0.6, 0.55}));
  EXPECT_TRUE(
      near(derivative("minirl-routing-replay", ratio_step({1.2}, {1.1}, {9.0, 9.0})), {-5.0, 5.0}));
  const auto metrics =
      evaluate(Objective("minirl-routing-replay"), ratio_step({1.2}, {1.1}, {0.5, 1.0})).metrics;
  EXPECT_NEAR(metrics.at("actor/rollout_kl"), std::log(2.0) / 2, 1e-12);
}

PlainStep four_rollouts() {
  PlainStep step = ratio_step({1.0}, {1.0}, {1.0, 1.0});
  PlainStep more = ratio_step({1.0}, {1.0}, {1.0, 5.0});
  step.rollouts.insert(step.rollouts.end(), more.rollouts.begin(), more.rollouts.end());
  return step;
}

TEST(WorksWhen, vcpo_learning_rate_follows_the_effective_sample_size) {
  // w = (1, 1, 1, 5): 64 / 28 = 2.2857, over B = 4: 0.5714, square root 0.7559.
  const Objective row("vcpo"), linear("vcpo", {}, {{"ess_rule", "linear"}}),
      half("vcpo", {}, {{"ess_base", "0.5"}});
  EXPECT_NEAR(Objective::lr_factor(*row.prepare(four_rollouts().columns())), 0.7559, 5e-5);
  EXPECT_NEAR(Objective::lr_factor(*linear.prepare(four_rollouts().columns())), 0.5714, 5e-5);
  EXPECT_EQ(Objective::lr_factor(*half.prepare(four_rollouts().columns())), 1.0);
  EXPECT_EQ(Objective::lr_factor(*row.prepare(worked_step().columns())), 1.0);
}

TEST(WorksWhen, vcpo_baseline_has_the_least_variance) {
  // w = (1, 2), equal norms, R = (1, 0): b = 1 / 5; on-policy 1 / 2. Advantages 1 - b and -b over
  // the spread 1 / 2, weights 1 and 2, mean over B = 2.
  const Column off = evaluate(Objective("vcpo"), ratio_step({1.0}, {1.0}, {1.0, 2.0})).derivative;
  EXPECT_TRUE(near(off, {-1.6 / 2, 2 * 0.4 / 2}));
  EXPECT_TRUE(near(evaluate(Objective("vcpo"), ratio_step({1.0}, {1.0})).derivative, {-0.5, 0.5}));
  // The released scripts average within rollouts: five tokens weigh as much as one.
  EXPECT_TRUE(near(evaluate(Objective("vcpo", {}, {{"importance_high", "1e9"}}),
                            ratio_step({1.0, 1.0, 1.0, 1.0, 1.0}, {1.0}))
                       .derivative[5],
                   5.0 / 6));
}

TEST(WorksWhen, vcpo_weighs_by_the_policy_that_the_update_starts_from) {
  // Sampled by the old policy; the one that this optimizer step starts from finds the second
  // rollout twice as likely: w = (1, 2), as above.
  PlainStep step = ratio_step({1.0}, {1.0});
  for (auto& r : step.rollouts) r.current = r.old;
  step.rollouts[1].current[0] += std::log(2.0);
  EXPECT_TRUE(near(evaluate(Objective("vcpo"), step).derivative, {-1.6 / 2, 2 * 0.4 / 2}));
  // (1 + 2)^2 / (2 (1 + 4)) = 0.9.
  EXPECT_NEAR(Objective::lr_factor(*Objective("vcpo").prepare(step.columns())), std::sqrt(0.9),
              1e-12);
}

TEST(WorksWhen, remix_weighs_against_the_sampler_and_clips_around_the_old_policy) {
  const Settings bare = {{"kl_convex_coef", "0"}};
  const auto slope = [&](const PlainStep& step) {
    return evaluate(Objective("remix-squeeze", {}, bare), step).derivative;
  };
  const double a = 0.5 / (std::sqrt(0.5) + 1e-6);
  // The old policy over the sampler: 1.5 and 0.5, so the intervals are 1.3 to 1.7 and 0.3 to 0.7.
  // Ratios 1.65 and 0.75 to the sampler: the second is outside.
  const Column d = slope(ratio_step({1.1, 1.5}, {1.0}, {1.5, 0.5, 1.0}));
  EXPECT_NEAR(d[0], -1.65 * a / 4, 1e-12);
  EXPECT_EQ(d[1], 0.0);
  EXPECT_NEAR(d[2], a / 2, 1e-12);
  EXPECT_TRUE(rc::check([] {  // with the sampler as old policy and no constraint: grpo to the bit
    PlainStep step = any_step(0.5);
    for (auto& r : step.rollouts) r.rollout = r.old;
    RC_ASSERT(evaluate(Objective("remix-squeeze", {{"regularizer", "none"}}), step).derivative ==
              evaluate(Objective("grpo"), step).derivative);
  }));
}

TEST(WorksWhen, vespo_weight_peaks_near_one_and_fades) {
  const Column d = derivative("vespo", ratio_step({1.0}, {1.0}));
  EXPECT_TRUE(near(d, {-1.0, 1.0}));
  EXPECT_LT(-derivative("vespo", ratio_step({20.0}, {1.0}))[0], 1e-10);
  EXPECT_LT(-derivative("vespo", ratio_step({0.01}, {1.0}))[0], 1e-2);
}

TEST(WorksWhen, vapo_nll_is_the_mean_over_correct_tokens) {
  EXPECT_TRUE(rc::check([] {
    PlainStep step = any_step();
    const Result with = evaluate(Objective("vapo_nll"), step);
    double sum = 0, count = 0;
    for (const auto& r : step.rollouts) {
      if (r.correct == 1.0)
        sum = std::accumulate(r.now.begin(), r.now.end(), sum), count += double(r.length());
    }
    RC_ASSERT(
        near(with.metrics.at("actor/positive_nll_loss"), count == 0 ? 0.0 : -0.1 * sum / count));
  }));
}

}  // namespace
}  // namespace rollcall::objective::test
