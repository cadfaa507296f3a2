// What G2RL promises: answers that push the policy elsewhere gain, so that several right answers
// stay alive; a control that deals the gradients out anew does not.
#include "objective/reward/gradient_novelty.hpp"
#include "works_when/small_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace rollcall::objective::test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
auto about(double x, double within = 1e-9) { return DoubleNear(x, within); }

Column shaped(const GradientNovelty& piece, const PlainStep& step) {
  return values(piece(Step(step.columns())).reward);
}

/// Answers of one group that push in these directions.
PlainStep pushing(const std::vector<std::pair<double, Column>>& list) {
  std::vector<Answer> all;
  for (const auto& [reward, unused] : list) all.push_back({0, reward});
  PlainStep step = answers(all);
  for (std::size_t i = 0; i < list.size(); ++i) step.rollouts[i].gradient = list[i].second;
  return step;
}

TEST(WorksWhen, g2rl_scores_are_what_weighted_squares_leave) {
  // e1, e1 and e2 with verdicts 1, 1, -1: of each of the first two the other weighs e / (e + 1/e) =
  // 0.8808.
  EXPECT_THAT(GradientNovelty::scores({1, 1, -1}, {1, 1, 0, 1, 1, 0, 0, 0, 1}),
              ElementsAre(about(0.1192, 1e-4), about(0.1192, 1e-4), about(1)));
  EXPECT_THAT(GradientNovelty::scores({1}, {1}), ElementsAre(1));
  // A cosine of 1/2 with one of two equal verdicts: 1 - 1/4 / 2.
  EXPECT_THAT(GradientNovelty::scores({-1, -1, -1}, {1, 0.25, 0, 0.25, 1, 0, 0, 0, 1}),
              ElementsAre(about(0.875), about(0.875), about(1)));
}

TEST(WorksWhen, g2rl_novel_mistakes_are_spared_or_punished) {
  const PlainStep step =
      pushing({{1.0, {1, 0, 0}}, {1.0, {1, 0, 0}}, {0.0, {0, 1, 0}}, {0.0, {-1, 0, 0}}});
  // nu: the first two and the last lie on one line, and the third on none. w = e, e, 1/e, 1/e.
  const double e = std::exp(1.0), d = 1 / e, right = 1 - (e + d) / (e + 2 * d),
               wrong = 1 - 2 * e / (2 * e + d);
  const double nubar = (right - wrong) / (1 - wrong);
  ASSERT_GT(nubar, 0.0);
  GradientNovelty piece;
  EXPECT_THAT(shaped(piece, step),
              ElementsAre(about(1 + nubar), about(1 + nubar), about(0), about(-1)));
  piece.lambda = 0.5, piece.mistakes = GradientNovelty::Mistakes::punished;
  EXPECT_THAT(shaped(piece, step),
              ElementsAre(about(1 + nubar / 2), about(1 + nubar / 2), about(-1.5), about(-1)));
  piece.lambda = 10;
  EXPECT_EQ(shaped(piece, step)[2], -3.0);
  piece.limit = 5;
  EXPECT_EQ(shaped(piece, step)[2], -5.0);
}

TEST(WorksWhen, g2rl_answers_without_tokens_and_pairs_gain_nothing) {
  PlainStep step = pushing({{1.0, {1, 0, 0}}, {0.0, {0, 1, 1}}});
  EXPECT_THAT(shaped({}, step), ElementsAre(1, -1));  // each is as novel to the other
  step = pushing({{1.0, {1, 0, 0}}, {1.0, {1, 0, 0}}, {1.0, {0, 1, 0}}, {0.0, {0, 0, 1}}});
  step.rollouts[3] = answers({{0, 0.0, 0}}).rollouts[0];
  EXPECT_THAT(shaped({}, step), ElementsAre(1, 1, 2, -1));
}

/// A policy of five one-token answers, three of them right, by a head of three directions: from
/// mostly one right answer. Trains it; returns the mean squared cosine between two answers'
/// gradients before and after.
std::pair<double, double> trained(const Objective& objective, std::uint64_t seed) {
  constexpr std::size_t kAnswers = 5, kGroup = 8;
  const std::array<Column, kAnswers> head{
      Column{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {-1, -1, 0}, {0, -1, -1}};
  Column logit{2, 0, 0, 1, 1};
  const auto chances = [&] {
    Column p;
    double sum = 0;
    for (const double z : logit) p.push_back(std::exp(z)), sum += p.back();
    for (double& x : p) x /= sum;
    return p;
  };
  const auto gradient = [&](const Column& p, std::size_t y) {
    Column g = head[y];
    for (std::size_t other = 0; other < kAnswers; ++other)
      for (std::size_t k = 0; k < 3; ++k) g[k] -= p[other] * head[other][k];
    return g;
  };
  const auto alike = [&] {
    const Column p = chances();
    double sum = 0;
    PlainRollout a, b;
    for (std::size_t i = 0; i < kAnswers; ++i) {
      for (std::size_t j = 0; j < kAnswers; ++j) {
        a.gradient = gradient(p, i), b.gradient = gradient(p, j);
        sum += p[i] * p[j] * std::pow(PlainStep().cosine(a, b), 2);
      }
    }
    return sum;
  };
  const double before = alike();
  std::mt19937 engine{std::uint32_t(seed)};
  for (std::uint64_t step = 0; step < 150; ++step) {
    const Column p = chances();
    std::discrete_distribution<std::size_t> draw(p.begin(), p.end());
    std::vector<std::size_t> drawn;
    std::vector<Answer> list;
    for (std::size_t i = 0; i < kGroup; ++i)
      drawn.push_back(draw(engine)), list.push_back({0, drawn.back() < 3 ? 1.0 : 0.0});
    PlainStep plain = answers(list);
    plain.index = step;
    for (std::size_t i = 0; i < kGroup; ++i) plain.rollouts[i].gradient = gradient(p, drawn[i]);
    const Column derivative = evaluate(objective, plain).derivative;
    for (std::size_t i = 0; i < kGroup; ++i)
      for (std::size_t k = 0; k < kAnswers; ++k)
        logit[k] -= 0.3 * derivative[i] * (double(k == drawn[i]) - p[k]);
  }
  return {before, alike()};
}

TEST(WorksWhen, g2rl_keeps_answers_apart_and_its_control_does_not) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const std::string mistakes : {"spared", "punished"}) {
      const auto [before, after] =
          trained(Objective("g2rl", {}, {{"novel_mistakes", mistakes}}), seed);
      EXPECT_LT(after, before - 0.05) << seed << " " << mistakes;
    }
    const auto [before, shuffled] =
        trained(Objective("g2rl", {}, {{"novelty_control", "shuffled"}}), seed);
    EXPECT_GT(shuffled, before) << seed;
    EXPECT_GT(trained(Objective("grpo"), seed).second, before) << seed;
  }
}

}  // namespace
}  // namespace rollcall::objective::test
