// What the methods promise that make one reward of several scorers, or scale rewards before they
// are compared, in numbers.
#include "objective/reward/components.hpp"
#include "objective/reward/difficulty_scale.hpp"
#include "works_when/small_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

Column combined(const Components& piece, const PlainStep& step) {
  return values(piece(Step(step.columns())).reward);
}

Components by(Components::Combine combine, const std::vector<std::string>& omitted = {}) {
  Components piece;
  piece.combine = combine, piece.weights.omitted = omitted;
  return piece;
}

TEST(WorksWhen, rm_ensemble_TheLeastScoreAndTheMeanLessTheVariance) {
  PlainStep step = answers({{0, 1.0}});
  step.rollouts[0].components = {{"a", 0.9}, {"b", 0.8}, {"c", 0.1}};
  EXPECT_THAT(combined(by(Components::Combine::mean), step), ElementsAre(DoubleNear(0.6, 1e-12)));
  EXPECT_THAT(combined(by(Components::Combine::min), step), ElementsAre(DoubleNear(0.1, 1e-12)));
  Components cautious = by(Components::Combine::cautious);
  EXPECT_THAT(combined(cautious, step), ElementsAre(DoubleNear(0.581, 1e-12)));  // 0.6 - 0.1 * 0.19
  cautious.lambda = 0.5;
  EXPECT_THAT(combined(cautious, step), ElementsAre(DoubleNear(0.505, 1e-12)));
}

TEST(WorksWhen, rm_ensemble_OneScorerIsItselfAndAWeightOfZeroIsNone) {
  PlainStep step = answers({{0, 1.0}});
  step.rollouts[0].components = {{"a", 0.9}, {"b", -4.0}};
  for (const auto combine : {Components::Combine::min, Components::Combine::cautious}) {
    Components piece = by(combine);
    piece.weights.given = {{"b", 0.0}};
    EXPECT_THAT(combined(piece, step), ElementsAre(DoubleNear(0.9, 1e-12)));
    piece.weights.given = {{"a", 2.0}, {"b", 0.0}};
    EXPECT_THAT(combined(piece, step), ElementsAre(DoubleNear(1.8, 1e-12)));
  }
}

/// Mean quality of the answer that a reward takes from n, over 60 draws. One answer in ten has the
/// words that scorer a is fooled by, and is a bad one.
double best_of(std::size_t n, const Components& piece) {
  double quality = 0;
  std::mt19937 engine(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> noise(0, 0.05);
  for (int draw = 0; draw < 60; ++draw) {
    PlainStep step = answers(std::vector<Answer>(n, {0, 0.0}));
    Column good;
    for (auto& r : step.rollouts) {
      const bool fools = uniform(engine) < 0.1;
      good.push_back(uniform(engine) * (fools ? 0.2 : 1.0));
      for (const char* scorer : {"a", "b", "c"}) r.components[scorer] = good.back() + noise(engine);
      if (fools) r.components["a"] += 4.0;
    }
    const Column reward = combined(piece, step);
    quality +=
        good[std::size_t(std::max_element(reward.begin(), reward.end()) - reward.begin())] / 60;
  }
  return quality;
}

TEST(WorksWhen, rm_ensemble_ACorruptedScorerPaysNothing) {
  Components much = by(Components::Combine::cautious);
  much.lambda = 5.0;
  double least = 0.0, cautious = 0.0;
  for (const std::size_t n : {1U, 4U, 16U, 64U}) {
    const double by_least = best_of(n, by(Components::Combine::min)), by_caution = best_of(n, much);
    EXPECT_GT(by_least, least) << n;
    EXPECT_GT(by_caution, cautious) << n;
    least = by_least, cautious = by_caution;
  }
  const Components alone = by(Components::Combine::sum, {"b", "c"});
  EXPECT_LT(best_of(64, alone), best_of(4, alone));
  EXPECT_LT(best_of(64, by(Components::Combine::mean)), 0.3);
  EXPECT_GT(least, 0.9);
}

/// Two prompts with a right and a wrong answer each; the first was never solved before, the second
/// always.
PlainStep hard_and_easy() {
  PlainStep step = answers({{0, 1.0}, {0, 0.0}, {1, 1.0}, {1, 0.0}});
  for (auto& r : step.rollouts) r.prior = double(r.group);
  return step;
}

/// |A| of the hard prompt over that of the easy one.
double hard_over_easy(const Settings& pieces, double hard_gain) {
  const Objective objective("dr-irl-grpo-s", pieces,
                            {{"hard_gain", std::to_string(hard_gain)}, {"gap_gain", "0"}});
  const Column d = evaluate(objective, hard_and_easy()).derivative;
  return d[0] / d[2];
}

TEST(WorksWhen, dr_irl_TheFactorCountsWhereTheSpreadIsTheStepsAndNotWhereItIsTheGroups) {
  EXPECT_NEAR(hard_over_easy({}, 0.0), 1.0, 1e-12);
  EXPECT_NEAR(hard_over_easy({}, 1.0), 2.0, 1e-12);
  EXPECT_NEAR(hard_over_easy({{"advantage", "group_norm"}}, 1.0), 1.0, 1e-5);
}

TEST(WorksWhen, dr_irl_WithoutGainsItIsTheLossWithoutTheFactor) {
  const Settings none = {{"hard_gain", "0"}, {"gap_gain", "0"}};
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const PlainStep step = random_step({4, 3, 1}, seed, 0.3);
    EXPECT_EQ(
        evaluate(Objective("dr-irl-grpo-s", {{"advantage", "group_norm"}}, none), step).derivative,
        evaluate(Objective("grpo"), step).derivative);
  }
}

TEST(WorksWhen, dr_irl_TheGapToTheReferenceAnswerIsOneSided) {
  DifficultyScale piece;
  piece.hard_gain = 0;
  PlainStep step = answers({{0, 1.0}, {0, 0.5}, {1, 3.0}, {1, 1.0}});
  // a mean of .75 is .25 short; 2 is above 1
  EXPECT_THAT(values(piece(Step(step.columns())).reward), ElementsAre(1.25, 0.625, 3.0, 1.0));
}

}  // namespace
}  // namespace rollcall::objective::test
