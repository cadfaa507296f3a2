// What the papers that weigh, choose and average tokens promise, in numbers.
#include "objective/aggregate/balanced.hpp"
#include "objective/selection.hpp"
#include "objective/weight/confidence_penalty.hpp"
#include "objective/weight/conflict_tokens.hpp"
#include "objective/weight/entropy_shaping.hpp"
#include "objective/weight/novelty.hpp"
#include "objective/weight/resample.hpp"
#include "works_when/small_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

namespace rollcall::objective::test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
auto about(double x, double within = 1e-3) { return DoubleNear(x, within); }

Step with_advantage(const PlainStep& plain, const Column& advantage) {
  Step step(plain.columns());
  step.advantage = at::tensor(advantage, at::kDouble);
  return step;
}

TEST(WorksWhen, ace_confidence_penalty_hits_overconfident_errors_alone) {
  PlainStep plain = answers({{0, 0.0}, {0, 0.0}, {0, 1.0}});
  for (auto& r : plain.rollouts) r.current = r.old;
  plain.rollouts[1].reference[0] -= 2.0, plain.rollouts[2].reference[0] -= 2.0;
  const Column a{-1.0, -1.0, 1.0}, w = values(ConfidencePenalty()(with_advantage(plain, a)).factor);
  EXPECT_THAT(w, ElementsAre(about(1.6931, 1e-4), about(3.1269, 1e-4), 1.0));
}

TEST(WorksWhen, mssr_shaping_cannot_flip_a_sign) {
  PlainStep plain = answers({{0, 0.0}, {0, 0.0}, {0, 1.0}});
  plain.rollouts[0].current_entropy = {9.0}, plain.rollouts[1].current_entropy = {0.5},
  plain.rollouts[2].current_entropy = {9.0};
  EXPECT_THAT(values(EntropyShaping()(with_advantage(plain, {-1.0, -1.0, 1.0})).factor),
              ElementsAre(0.5, about(0.8, 1e-12), 1.5));
}

TEST(WorksWhen, balanced_aggregation_undoes_the_coupling_of_sign_and_length) {
  const PlainStep plain = answers({{0, 1.0, 10}, {0, 1.0, 30}, {0, 0.0, 60}});
  Column a(100, 1.0);
  std::fill(a.begin() + 40, a.end(), -1.0);
  const Column c = values(Balanced()(with_advantage(plain, a)));
  EXPECT_NEAR(c[0], 1.0 / 60, 1e-15);
  EXPECT_NEAR(c[39], 1.0 / 60, 1e-15);
  EXPECT_NEAR(c[40], 1.0 / 180, 1e-15);
  // The same when every answer is evaluated by its own rank.
  const Objective objective("balanced-aggregation");
  EXPECT_TRUE(near(evaluate(objective, plain).derivative,
                   evaluate(objective, plain, {{0}, {1}, {2}}).derivative, 1e-15));
}

TEST(WorksWhen, d3s_keeps_the_subset_of_largest_variance) {
  const Column a{-1.5, -0.5, 0.0, 0.5, 1.5};
  PlainStep plain;
  for (std::size_t i = 0; i < a.size(); ++i)
    plain.rollouts.push_back(answers({{0, a[i], 5}}).rollouts[0]),
        plain.rollouts.back().key = std::int64_t(i);
  const Step step(plain.columns());
  EXPECT_THAT(values(widest(at::tensor(a, at::kDouble), at::ones({5}, at::kDouble),
                            step.uniform_rollouts(1), 2)),
              ElementsAre(1, 0, 0, 0, 1));
  // Every subset of three has a smaller or equal variance than the chosen one.
  const Column chosen = values(
      widest(at::tensor(a, at::kDouble), at::ones({5}, at::kDouble), step.uniform_rollouts(1), 3));
  const auto variance = [&](const auto& in) {
    double n = 0, mean = 0, square = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      n += in(i), mean += in(i)*a[i], square += in(i)*a[i] * a[i];
    return square / n - mean * mean / n / n;
  };
  const double best = variance([&](std::size_t i) { return chosen[i]; });
  for (unsigned set = 0; set < 32; ++set) {
    if (std::popcount(set) != 3) continue;
    EXPECT_LE(variance([&](std::size_t i) { return double(set >> i & 1U); }), best + 1e-12);
  }
}

TEST(WorksWhen, d3s_keeps_a_share_of_tokens_and_everything_at_one) {
  const PlainStep plain = answers({{0, 1.0, 7}, {0, 0.0, 8}});
  const Objective some("d3s", {}, {{"rollouts_start", "1"}, {"tokens_start", "0.25"}});
  int trained = 0;
  for (const double d : evaluate(some, plain).derivative) trained += d != 0.0;
  EXPECT_EQ(trained, 4);  // ceil(0.25 * 15)
  const Objective all("d3s", {}, {{"rollouts_start", "1"}, {"tokens_start", "1"}}),
      grpo("grpo", {{"aggregate", "token-mean"}});
  EXPECT_EQ(evaluate(all, plain).derivative, evaluate(grpo, plain).derivative);
  // whose tokens still divide
  PlainStep with_dead = answers({{0, 1.0, 7}, {0, 0.0, 8}, {1, 0.0, 5}, {1, 0.0, 4}});
  EXPECT_EQ(evaluate(all, with_dead).derivative, evaluate(grpo, with_dead).derivative);
}

TEST(WorksWhen, d3s_shares_move_with_progress) {
  PlainStep plain = answers({{0, 1.0, 8}, {0, 0.0, 8}, {1, 1.0, 8}, {1, 0.0, 8}});
  const auto trained = [&](double progress) {
    plain.progress = progress;
    const Column d = evaluate(Objective("d3s"), plain).derivative;
    return std::count_if(d.begin(), d.end(), [](double x) { return x != 0.0; });
  };
  EXPECT_EQ(trained(0.0), 2);  // ceil(0.25 * 4) = 1 rollout, ceil(0.25 * 8) tokens
  EXPECT_EQ(trained(0.5), 6);  // 0.375: 2 rollouts, 6 of 16 tokens
  EXPECT_EQ(trained(1.0), 8);  // 0.5: 2 rollouts, 8 of 16
}

TEST(WorksWhen, xrpo_sharpens_the_unlikely_success) {
  PlainStep plain = answers({{0, 1.0}, {0, 1.0}});
  plain.rollouts[0].old[0] = -0.2, plain.rollouts[1].old[0] = -0.6;
  EXPECT_THAT(values(Novelty()(with_advantage(plain, {1.0, 1.0})).factor),
              ElementsAre(1.0, about(1.181)));
  // the cap
  EXPECT_THAT(values(Novelty()(with_advantage(plain, {0.1, 0.1})).factor),
              ElementsAre(1.0, about(2.0, 1e-12)));
}

TEST(WorksWhen, entropy_80_20_trains_two_tokens_of_ten) {
  PlainStep plain = answers({{0, 1.0, 6}, {0, 0.0, 4}});
  plain.rollouts[0].current_entropy = {1, 9, 2, 3, 1, 1},
  plain.rollouts[1].current_entropy = {1, 2, 8, 1};
  const Column d = evaluate(Objective("entropy-80-20"), plain).derivative;
  for (std::size_t t = 0; t < d.size(); ++t) EXPECT_EQ(d[t] != 0.0, t == 1 || t == 8) << t;
  // the same choice on every rank
  EXPECT_EQ(evaluate(Objective("entropy-80-20"), plain, {{1}, {0}}).derivative, d);
  const Objective all("entropy-80-20", {}, {{"top_entropy_share", "1"}}),
      dapo("dapo_overlong", {}, {{"dual_clip", "10"}});
  EXPECT_EQ(evaluate(all, plain).derivative, evaluate(dapo, plain).derivative);
}

TEST(WorksWhen, gtpo_spares_shared_tokens_and_silences_the_undecided) {
  PlainStep plain = answers({{0, 1.0, 4}, {0, 0.0, 4}});
  plain.rollouts[0].token = {1, 2, 3, 4}, plain.rollouts[1].token = {1, 2, 5, 4};
  EXPECT_THAT(values(ConflictTokens()(with_advantage(plain, Column(8, 0.0))).factor),
              ElementsAre(2, 2, 1, 2, 0, 0, 1, 0));
  plain.rollouts[0].old_entropy.assign(4, 0.75), plain.rollouts[1].old_entropy.assign(4, 0.5);
  const Column d = evaluate(Objective("gtpo"), plain).derivative;
  for (std::size_t t = 0; t < 4; ++t) EXPECT_EQ(d[t], 0.0);
  EXPECT_NE(d[6], 0.0);
}

TEST(WorksWhen, gtpo_the_limit_is_for_policies_that_start_below_it) {
  PlainStep plain = answers({{0, 1.0, 4}, {0, 0.0, 4}});
  plain.rollouts[0].token = {1, 2, 3, 4}, plain.rollouts[1].token = {5, 6, 7, 8};
  // the first step's mean is 0.8
  plain.rollouts[0].old_entropy.assign(4, 0.9), plain.rollouts[1].old_entropy.assign(4, 0.7);
  const Objective gtpo("gtpo");
  for (const double d : evaluate(gtpo, plain).derivative) EXPECT_NE(d, 0.0);
  EXPECT_NEAR(Objective::statistics(*gtpo.prepare(plain.columns())).at("first_entropy"), 0.8,
              1e-12);
  plain.statistics = {{"first_entropy", 0.3}};  // it had started below, and has drifted
  for (const double d : evaluate(gtpo, plain).derivative) EXPECT_EQ(d, 0.0);
}

TEST(WorksWhen, thinkless_degrpo_first_token_ignores_the_length) {
  const Objective objective("thinkless-degrpo", {{"regularizer", "none"}},
                            {{"control_alpha", "1"}});
  const double brief = evaluate(objective, answers({{0, 1.0, 4}, {0, 0.0, 4}})).derivative[0];
  EXPECT_EQ(evaluate(objective, answers({{0, 1.0, 8}, {0, 0.0, 8}})).derivative[0], brief);
  EXPECT_NE(brief, 0.0);
}

TEST(WorksWhen, a_lol_weighs_by_advantage_and_clipped_ratio) {
  PlainStep plain = answers({{0, 1.0}, {0, 0.3}});
  for (auto& r : plain.rollouts)
    r.predicted = 0.6, r.current = r.old, r.reference[0] = r.old[0] - std::log(2.0);
  EXPECT_THAT(evaluate(Objective("a-lol"), plain).derivative,
              ElementsAre(about(-0.76, 1e-12), 0.0));
}

TEST(WorksWhen, pf_ppo_multiplicities_have_the_right_mean) {
  std::vector<Answer> list;
  for (int i = 0; i < 300; ++i) list.push_back({i, i % 3 == 0 ? 1.0 : i % 3 == 1 ? 0.5 : 0.0});
  const PlainStep plain = answers(list);
  const Column w = values(Resample()(Step(plain.columns())).factor);  // expected 2.4, 0.6 and 0
  double large = 0, small = 0, none = 0;
  for (std::size_t i = 0; i < w.size(); ++i)
    (i % 3 == 0 ? large : i % 3 == 1 ? small : none) += w[i] / 100;
  EXPECT_NEAR(large, 2.4, 0.15);
  EXPECT_NEAR(small, 0.6, 0.15);
  EXPECT_EQ(none, 0.0);
}

TEST(WorksWhen, dars_leaves_groups_of_equal_rewards_out_of_the_mean) {
  const Objective objective("dars");
  const Column alone = evaluate(objective, answers({{0, 1.0}, {0, 0.0}})).derivative;
  const Column among =
      evaluate(objective, answers({{0, 1.0}, {0, 0.0}, {1, 1.0}, {1, 1.0}, {2, 0.0}, {2, 0.0}}))
          .derivative;
  for (std::size_t t = 0; t < 6; ++t) EXPECT_EQ(among[t], t < 2 ? alone[t] : 0.0);
}

TEST(WorksWhen, one_shot_rlvr_has_an_entropy_switch) {
  const PlainStep plain = answers({{0, 1.0}, {0, 0.0}});
  EXPECT_THAT(evaluate(Objective("one-shot-rlvr"), plain).entropy_derivative,
              ElementsAre(-0.0005, -0.0005));
  EXPECT_THAT(
      evaluate(Objective("one-shot-rlvr", {}, {{"entropy_coef", "0"}}), plain).entropy_derivative,
      ElementsAre(0, 0));
}

}  // namespace
}  // namespace rollcall::objective::test
