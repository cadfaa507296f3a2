// What the clipping papers promise, in numbers.
#include "evaluate_step.hpp"
#include "hand_worked/ratio_steps.hpp"
#include "objective/pieces.hpp"
#include "works_when/small_step.hpp"

#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

const Settings plain_sum = {
    {"advantage", "fixed_baseline"}, {"aggregate", "token-sum"}, {"regularizer", "none"}};

/// Derivatives of a row's tokens at the given ratios, with A = +1 for the first rollout and -1 for
/// the second, and no averaging.
Column derivative(const std::string& row, const PlainStep& ratios, Settings knobs = {}) {
  PlainStep step = ratios;
  step.rollouts[0].reward = 1.5, step.rollouts[1].reward = -0.5;
  return evaluate(Objective(row, plain_sum, knobs), step).derivative;
}

/// Two rows, with any pieces and settings, that must say the same about any step.
void expect_same(const Objective& left, const Objective& right, double spread = 0.5) {
  EXPECT_TRUE(rc::check([&] {
    const PlainStep step = any_step(spread);
    const Result a = evaluate(left, step), b = evaluate(right, step);
    RC_ASSERT(near(a.loss, b.loss));
    RC_ASSERT(near(a.derivative, b.derivative));
  }));
}

TEST(WorksWhen, cispo_keeps_a_derivative_where_clip_has_none) {
  EXPECT_TRUE(near(derivative("cispo", ratio_step({1.5, 0.1}, {6.0})), {-1.2, -0.1, 1.2}));
  EXPECT_TRUE(near(derivative("cispo_upper", ratio_step({1.5, 9.0}, {6.0})), {-1.5, -5.0, 5.0}));
}

TEST(WorksWhen, gspo_token_is_gspo_for_one_advantage_a_rollout) {
  const Settings wide = {{"clip_low", "0.2"}, {"clip_high", "0.2"}};
  expect_same(Objective("gspo", {}, wide), Objective("gspo_token", {}, wide));
}

TEST(WorksWhen, dhpo_bridges_grpo_and_gspo) {
  expect_same(Objective("dhpo", {}, {{"mix_weight", "1"}}), Objective("grpo"));
  expect_same(Objective("dhpo", {}, {{"mix_weight", "0"}}), Objective("gspo"));
  // Ratios 1.2 and 0.8: s = sqrt(0.96) = 0.9798; averaged (1.0899, 0.8899). Token-sum: -(1.0899 +
  // 0.8899) with A = 1.
  PlainStep step = ratio_step({1.2, 0.8}, {1.0});
  step.rollouts[0].reward = 1.5, step.rollouts[1].reward = 0.5;
  const Settings wide = {{"clip_low", "1"},
                         {"clip_high", "9"},
                         {"sequence_clip_low", "1"},
                         {"sequence_clip_high", "9"}};
  EXPECT_NEAR(evaluate(Objective("dhpo", plain_sum, wide), step).loss, -(1.0899 + 0.8899), 1e-4);
}

TEST(WorksWhen, dhpo_entropy_mix_follows_the_entropy) {
  // Entropies 1 and 0 in the first rollout: weights 1 and 0. A = 1, wide windows: -1.2 for the
  // token, -s for the other.
  PlainStep step = ratio_step({1.2, 0.8}, {1.0});
  step.rollouts[0].reward = 1.5, step.rollouts[1].reward = 0.5;
  step.rollouts[0].old_entropy = {2.0, 0.0}, step.rollouts[1].old_entropy = {1.0};
  const Settings wide = {{"mix", "entropy"},
                         {"clip_low", "1"},
                         {"clip_high", "9"},
                         {"sequence_clip_low", "1"},
                         {"sequence_clip_high", "9"}};
  EXPECT_NEAR(evaluate(Objective("dhpo", plain_sum, wide), step).loss, -1.2 - std::sqrt(0.96),
              1e-9);
}

TEST(WorksWhen, minpro_weighs_by_the_smallest_ratio_so_far) {
  EXPECT_TRUE(near(derivative("minpro", ratio_step({0.9, 1.2, 0.5, 1.1}, {1.0})),
                   {-0.9, -1.08, -0.45, -0.55, 1.0}));
  EXPECT_TRUE(rc::check([] {  // on-policy its derivative is that of dapo
    const PlainStep step = any_step(0.0);
    RC_ASSERT(near(evaluate(Objective("minpro"), step).derivative,
                   evaluate(Objective("dapo"), step).derivative));
  }));
}

TEST(WorksWhen, dispo_bounds_good_and_bad_apart) {
  EXPECT_TRUE(
      near(derivative("dispo", ratio_step({15.0, 0.5}, {15.0, 0.5})), {-11.0, -0.8, 15.0, 0.5}));
  const Settings equal = {{"dispo_low_pos", "0.3"},
                          {"dispo_low_neg", "0.3"},
                          {"dispo_high_pos", "0.4"},
                          {"dispo_high_neg", "0.4"}};
  expect_same(Objective("dispo", {}, equal),
              Objective("cispo", {}, {{"clip_low", "0.3"}, {"clip_high", "0.4"}}));
  const auto metrics = evaluate(Objective("dispo"), ratio_step({3.0, 0.5}, {2.0, 4.0})).metrics;
  EXPECT_EQ(metrics.at("actor/good_above"), 0.25);
  EXPECT_EQ(metrics.at("actor/good_below"), 0.25);
  EXPECT_EQ(metrics.at("actor/bad_above"), 0.5);
  EXPECT_EQ(metrics.at("actor/bad_below"), 0.0);
}

TEST(WorksWhen, sapo_gate_is_one_at_one_and_fades) {
  // Derivative over ratio: w(2) = 0.7864 at tau 1 and 0.7681 at tau 1.05, w(1.5) = w(0.5) = 0.9400.
  const Column two = derivative("sapo", ratio_step({2.0, 1.5, 0.5, 1.0}, {2.0, 1.0}));
  EXPECT_NEAR(-two[0] / 2.0, 0.7864, 5e-5);
  EXPECT_NEAR(-two[1] / 1.5, 0.9400, 5e-5);
  EXPECT_NEAR(-two[2] / 0.5, 0.9400, 5e-5);
  EXPECT_NEAR(-two[3], 1.0, 1e-12);
  EXPECT_NEAR(two[4] / 2.0, 0.7681, 5e-5);
  EXPECT_NEAR(two[5], 1.0, 1e-12);
  // f(1) = 2 / tau: 2.0 and 1.9048.
  PlainStep step = ratio_step({1.0}, {1.0});
  step.rollouts[0].reward = 1.5, step.rollouts[1].reward = -0.5;
  EXPECT_NEAR(evaluate(Objective("sapo", plain_sum), step).loss, -2.0 + 1.9048, 5e-5);
}

TEST(WorksWhen, sapo_on_policy_is_unclipped_reinforce) {
  EXPECT_TRUE(rc::check([] {
    const PlainStep step = any_step(0.0);
    RC_ASSERT(near(evaluate(Objective("sapo"), step).derivative,
                   evaluate(Objective("sapo", {{"surrogate", "reinforce"}}), step).derivative));
  }));
}

TEST(WorksWhen, gppo_klear_preserves_a_bounded_derivative) {
  EXPECT_TRUE(near(derivative("gppo-klear", ratio_step({1.5}, {0.5})), {-1.28, 0.8}));
  EXPECT_TRUE(near(derivative("gppo-klear", ratio_step({1.0}, {3.5})), {-1.0, 3.5}));
  // the dual clip stays, at 10
  EXPECT_TRUE(near(derivative("gppo-klear", ratio_step({1.0}, {10.5})), {-1.0, 0.0}));
  EXPECT_TRUE(rc::check([] {  // inside the interval: PPO to the bit
    const PlainStep step = any_step(0.04);
    for (const auto& r : step.rollouts) {
      for (std::size_t t = 0; t < r.length(); ++t) RC_PRE(std::abs(r.now[t] - r.old[t]) < 0.18);
    }
    const Objective loss_alone("gppo-klear", {{"weight", "none"}, {"regularizer", "none"}},
                               {{"moments_of", "drawn"}});
    RC_ASSERT(evaluate(loss_alone, step).derivative ==
              evaluate(Objective("dapo"), step).derivative);
  }));
}

TEST(WorksWhen, dcpo_bounds_solve_their_equation) {
  // At the bounds, q |rho (rho - 1)| = epsilon: for q = 1/2 and 0.9 the upper one, for q = 0.9 the
  // lower one.
  for (const double q : {0.5, 0.9}) {
    PlainStep step = ratio_step({1.0}, {1.0});
    step.rollouts[0].reward = 1.5, step.rollouts[1].reward = -0.5;
    const double high = (1 + std::sqrt(1 + 0.8 / q)) / 2,
                 low = (1 + std::sqrt(std::max(0.0, 1 - 0.64 / q))) / 2;
    EXPECT_NEAR(q * high * (high - 1), 0.2, 1e-12);
    for (const double off : {-0.01, 0.01}) {
      for (auto& r : step.rollouts) r.old = {std::log(q)};
      step.rollouts[0].now = {std::log(q * (high + off))},
      step.rollouts[1].now = {std::log(q * (low + off))};
      const Column d = evaluate(Objective("dcpo", plain_sum), step).derivative;
      EXPECT_EQ(d[0] == 0.0, off > 0) << q;
      EXPECT_EQ(d[1] == 0.0, off < 0) << q;
    }
  }
}

TEST(WorksWhen, dcpo_bounds_of_two_tokens_worked_by_hand) {
  // A certain token, q = 1, with 0.16: the lower bound is (1 + sqrt(0.36)) / 2 = 0.8 (with a minus
  // it would be 0.2). A token of q = 1/4 with 0.5: the upper one is (1 + sqrt(9)) / 2 = 2.
  const auto derivative = [&](double fallen, double risen) {
    PlainStep step = ratio_step({1.0}, {1.0});
    step.rollouts[0].reward = -0.5, step.rollouts[1].reward = 1.5;
    step.rollouts[0].old = {0.0}, step.rollouts[0].now = {std::log(fallen)};
    step.rollouts[1].old = {std::log(0.25)}, step.rollouts[1].now = {std::log(0.25 * risen)};
    return evaluate(Objective("dcpo", plain_sum, {{"dynamic_high", "0.5"}}), step).derivative;
  };
  const Column inside = derivative(0.81, 1.99), outside = derivative(0.79, 2.01);
  EXPECT_GT(inside[0], 0.0);
  EXPECT_LT(inside[1], 0.0);
  EXPECT_EQ(outside, Column({0.0, 0.0}));
}

TEST(WorksWhen, cpgd_weighs_prompts_alike_whatever_their_length_and_by_their_spread) {
  // Two prompts, answers of one and of three tokens: 1 / (2 * 2) and 1 / (2 * 6) a token. Rewards
  // 1, 0 and 2, 0: advantages +-1/sqrt(2) for both.
  const auto step = answers({{0, 1.0, 1}, {0, 0.0, 1}, {1, 2.0, 3}, {1, 0.0, 3}});
  const Column d = evaluate(Objective("cpgd"), step).derivative;
  EXPECT_NEAR(d[0], -1 / std::sqrt(2.0) / 4, 1e-6);
  EXPECT_NEAR(d[2], -1 / std::sqrt(2.0) / 12, 1e-6);
  EXPECT_NEAR(d[7], 1 / std::sqrt(2.0) / 12, 1e-6);
}

TEST(WorksWhen, dppo_masks_by_probability_and_not_by_ratio) {
  // From the sampler's 0.001 to 0.01: ratio 10, kept. From 0.5 to 0.75: ratio 1.5, masked. The old
  // policy does not enter.
  PlainStep step = ratio_step({10.0, 1.5}, {1.0});
  step.rollouts[0].rollout[0] = std::log(0.001), step.rollouts[0].now[0] = std::log(0.01);
  for (const std::string row : {"dppo_tv", "dppo_kl"})
    EXPECT_TRUE(near(derivative(row, step), {-10.0, 0.0, 1.0})) << row;
}

TEST(WorksWhen, clip_cov_draws_the_same_tokens_in_any_order) {
  // Every token is a candidate and a fifth is to go: the draw goes with the rollouts' keys.
  EXPECT_TRUE(rc::check([] {
    const PlainStep step = any_step();
    std::mt19937 engine(*rc::gen::arbitrary<std::uint32_t>());
    const Objective row("clip_cov", {},
                        {{"cov_share", "0.2"}, {"cov_low", "-10"}, {"cov_high", "10"}});
    const auto [shuffled, order] = shuffle(step, engine);
    RC_ASSERT(near(rearrange(step, evaluate(row, step).derivative, order),
                   evaluate(row, shuffled).derivative));
  }));
}

}  // namespace
}  // namespace rollcall::objective::test
