// What the methods with a value head or a teacher promise in numbers.
#include "evaluate_step.hpp"
#include "objective/advantage/gae.hpp"
#include "objective/advantage/macro_gae.hpp"
#include "objective/advantage/teacher_gap.hpp"
#include "objective/recipes.hpp"

#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

PlainStep with_values(const Column& values, double reward, bool truncated = false) {
  const Column lp(values.size(), -1.0);
  PlainRollout r{0, reward, truncated, lp, lp, lp, Column(values.size(), 1.0), lp};
  r.old_value = r.value = values;
  return {{r}, 100.0};
}

TEST(WorksWhen, ppo_AdvantagesAtTheTwoEndsOfLambda) {
  const PlainStep step = random_step({3, 2}, 4, 0.2);
  Gae piece;
  piece.lambda = 1.0;  // return less value
  const Step prepared(step.columns());
  const Column a = values(piece(prepared).advantage), target = values(piece(prepared).value_target),
               v = step.flat(&PlainRollout::old_value);
  std::size_t token = 0;
  for (const auto& r : step.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t, ++token) {
      EXPECT_NEAR(a[token], r.reward - v[token], 1e-12);
      EXPECT_NEAR(target[token], r.reward, 1e-12);
    }
  }
}

TEST(WorksWhen, ppo_RewardsOfSingleTokensCount) {
  Step step(with_values({0, 0, 0}, 1.0).columns());
  step.token_reward = at::tensor(Column{0.1, 0.2, 0.3}, at::kDouble);
  Gae piece;
  piece.lambda = 1.0, piece.gamma = 0.5;
  EXPECT_TRUE(near(values(piece(step).advantage),
                   Column{0.1 + 0.5 * 0.2 + 0.25 * 1.3, 0.2 + 0.5 * 1.3, 1.3}));
}

TEST(WorksWhen, ppo_TheValueStopsAtItsBoundAndIsPulledBack) {
  const auto slope = [](double value, double reward) {
    PlainStep step = with_values({0.0}, reward);
    step.rollouts[0].value = {value};
    return evaluate(Objective("ppo"), step).value_derivative[0];
  };
  EXPECT_EQ(slope(0.6, 1.0), 0.0);  // beyond 0 + 0.5 in the wanted direction
  EXPECT_NEAR(slope(0.4, 1.0), -0.6, 1e-12);
  EXPECT_NEAR(slope(0.6, 0.0), 0.6, 1e-12);  // away from the target: still pulled back
}

TEST(WorksWhen, vapo_LambdaGrowsWithLength) {
  Gae piece;
  piece.alpha = 0.05, piece.value_lambda = 1.0;
  // 40 tokens: lambda = 1 - 1 / 2; values 0, reward 1: A = 0.5^(tokens to go); targets are returns.
  const Step step(with_values(Column(40, 0.0), 1.0).columns());
  const Column a = values(piece(step).advantage);
  EXPECT_NEAR(a[39], 1.0, 1e-12);
  EXPECT_NEAR(a[36], 0.125, 1e-12);
  for (const double target : values(piece(step).value_target)) EXPECT_NEAR(target, 1.0, 1e-12);
}

TEST(WorksWhen, vapo_TheValueLearnsFromThePlainSquaredError) {
  PlainStep step = with_values({0.0}, 1.0);
  step.rollouts[0].value = {0.6};  // ppo would stop here
  EXPECT_NEAR(evaluate(Objective("vapo"), step).value_derivative[0], -0.4, 1e-12);
}

TEST(WorksWhen, on_policy_distillation_AnswersWeighTheSameWhateverTheirLength) {
  PlainStep step = with_values({0, 0, 0}, 0.0);
  step.rollouts.push_back(with_values({0}, 0.0).rollouts[0]);
  // every token is 0.5 nats likelier under the teacher
  for (auto& r : step.rollouts) r.teacher = Column(r.length(), -0.5);
  EXPECT_TRUE(near(evaluate(Objective("on_policy_distillation"), step).derivative,
                   Column{-0.5 / 6, -0.5 / 6, -0.5 / 6, -0.25}));
}

TEST(WorksWhen, t_ppo_TheLastValueIsCarriedOn) {
  Gae extended, ordinary;
  extended.truncation = Gae::Truncation::extend;
  const Column a =
      values(extended(Step(with_values({0.2, 0.4, 0.5}, 0.0, true).columns())).advantage);
  EXPECT_TRUE(near(a, Column{0.295, 0.1, 0.0}));
  PlainStep finished = random_step({3, 3}, 6, 0.2);
  for (auto& r : finished.rollouts) r.truncated = false;
  const Step step(finished.columns());
  EXPECT_EQ(values(extended(step).advantage), values(ordinary(step).advantage));
}

TEST(WorksWhen, t_ppo_TheValueLearnsFromFinishedRolloutsOnly) {
  PlainStep step = with_values({0.2, 0.4}, 1.0, true);
  EXPECT_EQ(evaluate(Objective("t-ppo"), step).value_derivative, (Column{0.0, 0.0}));
  step.rollouts[0].truncated = false;
  // (V - return) / 2 tokens
  EXPECT_TRUE(near(evaluate(Objective("t-ppo"), step).value_derivative, Column{-0.4, -0.3}));
}

TEST(WorksWhen, ma_rlhf_SegmentsOfOneAreTokens) {
  MacroGae macro;
  Gae token;
  macro.length = 1;
  const Step step(random_step({4, 3}, 12, 0.3).columns());
  EXPECT_EQ(values(macro(step).advantage), values(token(step).advantage));
  EXPECT_EQ(values(macro(step).value_target), values(token(step).value_target));
}

TEST(WorksWhen, ma_rlhf_ASegmentSharesItsAdvantage) {
  // 12 tokens: segments of 5, 5, 1 and the last token. Pooled values 0.1, 0.2, 0.3, 0.4, reward 1.
  Column v(12, 0.1);
  std::fill(v.begin() + 5, v.begin() + 10, 0.2), v[10] = 0.3, v[11] = 0.4;
  const double d = 0.1, last = 0.6, l = 0.95, third = d + l * last, second = d + l * third,
               first = d + l * second;
  Column expected(12, first);
  std::fill(expected.begin() + 5, expected.begin() + 10, second), expected[10] = third,
                                                                  expected[11] = last;
  EXPECT_TRUE(near(values(MacroGae()(Step(with_values(v, 1.0).columns())).advantage), expected));
}

TEST(WorksWhen, ma_rlhf_TheRowTrainsOnTheAdvantagesOfItsSegments) {
  // Nothing is whitened: the 12 tokens carry 0.1 + 0.95 (0.1 + 0.95 (0.1 + 0.95 * 0.6)) = 0.7997,
  // ..., 0.6.
  Column v(12, 0.1);
  std::fill(v.begin() + 5, v.begin() + 10, 0.2), v[10] = 0.3, v[11] = 0.4;
  const Column d = evaluate(Objective("ma-rlhf"), with_values(v, 1.0)).derivative;
  EXPECT_NEAR(d[0], -0.799675 / 12, 1e-12);
  EXPECT_NEAR(d[4], -0.799675 / 12, 1e-12);
  EXPECT_NEAR(d[11], -0.6 / 12, 1e-12);
}

TEST(WorksWhen, ma_rlhf_PoolingByPosition) {
  MacroGae piece;
  piece.pool = MacroGae::Pool::position, piece.length = 2;
  // Segments 2, 1; weights 2/3 and 1/3: V = 0.4, 0.5. Errors 0.1 and 0.5.
  EXPECT_TRUE(near(values(piece(Step(with_values({0.3, 0.6, 0.5}, 1.0).columns())).advantage),
                   Column{0.1 + 0.95 * 0.5, 0.1 + 0.95 * 0.5, 0.5}));
}

/// Tokens of each segment, by where the targets differ: every token has a value of its own, so
/// neighbouring segments cannot agree.
std::vector<std::size_t> segments(const MacroGae& piece, PlainStep step, std::size_t rollout = 0) {
  for (auto& r : step.rollouts)
    for (std::size_t t = 0; t < r.length(); ++t) r.old_value[t] = std::sqrt(double(t) + 2);
  const Column a = values(piece(Step(step.columns())).advantage);
  std::size_t first = 0;
  for (std::size_t i = 0; i < rollout; ++i) first += step.rollouts[i].length();
  std::vector<std::size_t> sizes{1};
  for (std::size_t t = 1; t < step.rollouts[rollout].length(); ++t) {
    if (a[first + t] == a[first + t - 1]) ++sizes.back();
    else sizes.push_back(1);
  }
  return sizes;
}

TEST(WorksWhen, ma_rlhf_ASegmentEndsWhereThePerplexityRises) {
  PlainStep step = with_values(Column(7, 0.0), 1.0);
  // less likely than the token before it: the fourth and the sixth
  step.rollouts[0].reference = {-1.0, -0.5, -0.5, -2.0, -1.0, -3.0, -0.1};
  MacroGae piece;
  piece.border = MacroGae::Border::perplexity;
  EXPECT_EQ(segments(piece, step), (std::vector<std::size_t>{3, 2, 1, 1}));
}

TEST(WorksWhen, ma_rlhf_RandomSegmentsTakeEachLengthAsOftenAsAsked) {
  MacroGae piece;
  piece.border = MacroGae::Border::random, piece.repeats = 2;
  PlainStep step = with_values(Column(50, 0.0), 1.0);
  step.rollouts.push_back(step.rollouts[0]);
  step.rollouts[1].key = 5;
  const auto first = segments(piece, step), second = segments(piece, step, 1);
  EXPECT_NE(first, second);
  std::vector<std::size_t> sizes = first;
  EXPECT_EQ(sizes.back(), 1U);  // the last token
  EXPECT_EQ(sizes[sizes.size() - 2], 50 - 2 * (1 + 2 + 3 + 5 + 10) - 1U);
  sizes.resize(sizes.size() - 2);
  std::sort(sizes.begin(), sizes.end());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 1, 2, 2, 3, 3, 5, 5, 10, 10}));
  std::swap(step.rollouts[0], step.rollouts[1]);  // a rollout's segments are its own, wherever it
                                                  // lies
  EXPECT_EQ(segments(piece, step, 1), first);
  EXPECT_EQ(segments(piece, step), second);
}

TEST(WorksWhen, ma_rlhf_EveryTokenIsInASegmentWhateverTheBorders) {
  for (const auto border : {MacroGae::Border::random, MacroGae::Border::perplexity}) {
    MacroGae piece;
    piece.border = border;
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      const PlainStep step = random_step({3, 2, 4}, seed, 0.3);
      const Advantage a = piece(Step(step.columns()));
      EXPECT_EQ(values(a.advantage).size(), step.flat(&PlainRollout::old).size());
      for (const double x : values(a.value_target)) EXPECT_TRUE(std::isfinite(x));
    }
  }
}

TEST(WorksWhen, vopd_TheBaselineIsTheExactValue) {
  const double kl = 0.5 * std::log(0.5 / 0.8) + 0.5 * std::log(0.5 / 0.2);
  EXPECT_NEAR(-kl, -0.2231, 1e-4);
  PlainStep step = with_values({0, 0}, 0.0);
  auto& r = step.rollouts[0];
  r.old = r.now = r.rollout = {std::log(0.5), std::log(0.5)},
  r.teacher = {std::log(0.8), std::log(0.2)}, r.teacher_kl = {kl, kl};
  const Column a = values(TeacherGap()(Step(step.columns())));
  EXPECT_NEAR(a[0], 0.6931, 1e-4);
  EXPECT_NEAR(a[1], -0.6931, 1e-4);
  EXPECT_NEAR(0.5 * a[0] + 0.5 * a[1], 0.0, 1e-12);  // weighted by the student
}

/// Mean and mean square of the sampled gradient in one logit, exactly, over all tokens of one
/// place: student p, teacher q, the advantages those of the piece.
std::pair<double, double> moments(const Column& p, const Column& q, std::size_t logit,
                                  TeacherGap::Baseline baseline) {
  PlainStep step = with_values(p, 0.0);
  auto& r = step.rollouts[0];
  double kl = 0;
  for (std::size_t k = 0; k < p.size(); ++k) kl += p[k] * std::log(p[k] / q[k]);
  for (std::size_t k = 0; k < p.size(); ++k)
    r.old[k] = std::log(p[k]), r.teacher.push_back(std::log(q[k])), r.teacher_kl.push_back(kl);
  TeacherGap piece;
  piece.baseline = baseline;
  const Column a = values(piece(Step(step.columns())));
  double mean = 0, square = 0;
  for (std::size_t k = 0; k < p.size(); ++k) {
    const double gradient = a[k] * ((k == logit ? 1.0 : 0.0) - p[logit]);
    mean += p[k] * gradient, square += p[k] * gradient * gradient;
  }
  return {mean, square};
}

TEST(WorksWhen, vopd_TheBaselineKeepsTheMeanGradient) {
  using enum TeacherGap::Baseline;
  for (const auto& [p, q] : {std::pair(Column{0.6, 0.3, 0.1}, Column{0.2, 0.5, 0.3}),
                             {Column{0.5, 0.5}, Column{0.8, 0.2}}}) {
    double mean = 0;  // of the advantage without a baseline: the mean gradient in a logit is p (gap
                      // - mean gap)
    for (std::size_t k = 0; k < p.size(); ++k) mean += p[k] * std::log(q[k] / p[k]);
    for (std::size_t logit = 0; logit < p.size(); ++logit) {
      const double expected = p[logit] * (std::log(q[logit] / p[logit]) - mean);
      EXPECT_NEAR(moments(p, q, logit, exact).first, expected, 1e-12);
      EXPECT_NEAR(moments(p, q, logit, none).first, expected, 1e-12);
    }
  }
  // Less variance for p = 1/2, 1/2 and q = 0.8, 0.2; not for every pair of distributions: the value
  // is not the best constant.
  EXPECT_LT(moments({0.5, 0.5}, {0.8, 0.2}, 0, exact).second,
            moments({0.5, 0.5}, {0.8, 0.2}, 0, none).second);
}

}  // namespace
}  // namespace rollcall::objective::test
