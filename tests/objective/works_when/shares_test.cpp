// What the methods that look at answers, outliers, surplus failures or the history of the entropy
// promise in numbers.
#include "objective/advantage/balanced_center.hpp"
#include "objective/reward/answer_share.hpp"
#include "objective/weight/agreement.hpp"
#include "objective/weight/drop_outliers.hpp"
#include "works_when/small_step.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rollcall::objective::test {
namespace {

TEST(WorksWhen, stable_reinforce_AnOverflowingRatioIsAThousand) {
  PlainStep step = answers({{0, 0.0}, {0, 1.0}});
  step.rollouts[0].now[0] += 50;
  const Result result = evaluate(Objective("stable-reinforce-r1-reward"), step);
  EXPECT_TRUE(all_finite(result));
  EXPECT_NEAR(result.metrics.at("actor/ratio_max"), 1000.0, 1e-9);
  EXPECT_NEAR(result.loss, (1000.0 - 1.0) / 2, 1e-4);  // A = -1 and 1
}

TEST(WorksWhen, stable_reinforce_ATokenPaysForTheDivergenceThatFollowsIt) {
  PlainStep step = answers({{0, 1.0, 2}, {0, 0.0, 1}});
  for (double& x : step.rollouts[0].reference) x -= 12.5;  // each token costs 0.0125
  // Returns 0.975, 0.9875 and 0: mean 0.654167, squares 0.102934, 0.111111 and 0.427934, spread
  // 0.462594.
  const Column derivative = evaluate(Objective("stable-reinforce-r1-reward"), step).derivative;
  EXPECT_NEAR(derivative[0], -0.693553 / 4, 1e-6);
  EXPECT_NEAR(derivative[1], -0.720575 / 4, 1e-6);
  EXPECT_NEAR(derivative[2], 1.414128 / 2, 1e-6);
}

TEST(WorksWhen, stable_reinforce_FourSigmaAreOutAndTwoPointNineAreIn) {
  Step step(answers({{0, 0.0}, {0, 0.0}, {0, 0.0}, {0, 0.0}}).columns());
  step.advantage = at::tensor(Column{4.0, 2.9, -2.9, -4.0}, at::kDouble);
  EXPECT_EQ(values(DropOutliers()(step).factor), (Column{0, 1, 1, 0}));
}

/// One prompt, so many answers 0 and so many answers 1; the verifier takes answer `right`.
PlainStep votes(int zeros, int ones, int right) {
  PlainStep step = answers(std::vector<Answer>(std::size_t(zeros + ones), {0, 0.0}));
  for (int i = 0; i < zeros + ones; ++i) {
    auto& r = step.rollouts[std::size_t(i)];
    r.answer = i < zeros ? 0 : 1;
    r.reward = r.correct = (i < zeros ? 0 : 1) == right;
  }
  return step;
}

TEST(WorksWhen, epo_TokensOutsideTheBandAreChargedAndPulledNoDifferently) {
  PlainStep step = answers({{0, 1.0, 3}, {0, 1.0, 3}});  // no advantage
  for (auto& r : step.rollouts) r.entropy = {0.7, 1.0, 1.3};
  const Objective epo("epo-entropy-smoothing");
  const Result first = evaluate(epo, step);
  step.statistics["entropy_history"] = 1.0;
  const Result later = evaluate(epo, step),
               plain = evaluate(Objective("entropy_grpo", {{"aggregate", "token-mean"}}), step);
  EXPECT_NEAR(first.loss, -0.001, 1e-12);                        // no history yet: the bonus alone
  EXPECT_NEAR(later.loss - first.loss, 0.001 * 0.2 / 3, 1e-12);  // charges 0.1, 0, 0.1
  EXPECT_EQ(later.entropy_derivative, plain.entropy_derivative);
}

TEST(WorksWhen, epo_TheHistoryIsTheMeanOfTheSteps) {
  const Objective epo("epo-entropy-smoothing");
  PlainStep step = answers({{0, 1.0, 2}, {0, 0.0, 1}});
  for (const auto& [entropy, mean] : {std::pair(1.0, 1.0), {2.0, 1.5}, {0.0, 1.0}}) {
    for (auto& r : step.rollouts) r.entropy.assign(r.length(), entropy);
    step.statistics = Objective::statistics(*epo.prepare(step.columns()));
    EXPECT_NEAR(step.statistics.at("entropy_history"), mean, 1e-12);
  }
}

TEST(WorksWhen, ttrv_SharesAndEntropy) {
  AnswerShare piece;
  piece.entropy = 0.0;
  const Column share = values(piece(Step(votes(6, 2, 0).columns())).reward);
  EXPECT_NEAR(share.front(), 0.75, 1e-12);
  EXPECT_NEAR(share.back(), 0.25, 1e-12);
  piece.entropy = 1.0;  // H = 0.5623 nats, of ln 2 at most
  const Column whole = values(piece(Step(votes(6, 2, 0).columns())).reward);
  EXPECT_NEAR((share.front() - whole.front()) * std::log(2.0), 0.5623, 5e-5);
  EXPECT_NEAR((share.back() - whole.back()) * std::log(2.0), 0.5623, 5e-5);
  // one answer: no entropy
  EXPECT_EQ(values(AnswerShare()(Step(votes(8, 0, 0).columns())).reward), Column(8, 1.0));
}

TEST(WorksWhen, ttrv_TheMajorityIsPushedUpRightOrWrong) {
  const Column right = evaluate(Objective("ttrv"), votes(6, 2, 0)).derivative,
               wrong = evaluate(Objective("ttrv"), votes(6, 2, 1)).derivative;
  EXPECT_EQ(right, wrong);  // no label is read
  EXPECT_LT(right.front(), 0.0);
  EXPECT_GT(right.back(), 0.0);
  for (const double d : evaluate(Objective("ttrv"), votes(8, 0, 0)).derivative) EXPECT_EQ(d, 0.0);
}

TEST(WorksWhen, q_hawkeye_TheWeightIsOneInAgreementAndFallsWithTheVariance) {
  double before = 2.0;
  for (const int others : {0, 1, 2, 3, 4}) {
    const double weight =
        values(Agreement()(Step(votes(8 - others, others, 0).columns())).factor)[0];
    EXPECT_LT(weight, before);
    EXPECT_EQ(weight == 1.0, others == 0);
    // Two answers: the unbiased variance of 0 and 1 over its largest value, 1/2, is the chance 2 k
    // (8 - k) / (8 * 7) that two of the eight differ.
    EXPECT_NEAR(weight, std::exp(-0.2 * 2 * others * (8 - others) / 56.0), 1e-12);
    before = weight;
  }
}

TEST(WorksWhen, red_drop_NeverMoreFailuresThanSuccesses) {
  for (const auto& [right, wrong] : {std::pair(1, 7), {3, 5}, {4, 4}, {6, 2}, {0, 4}}) {
    const Column a = advantages_of(BalancedCenter(), votes(right, wrong, 0));
    const auto up = std::count_if(a.begin(), a.end(), [](double x) { return x > 0; }),
               down = std::count_if(a.begin(), a.end(), [](double x) { return x < 0; });
    EXPECT_EQ(up, wrong == 0 || right == 0 ? 0 : right);
    EXPECT_EQ(down, right == 0 ? 0 : std::min(right, wrong));
    double sum = 0;
    for (const double x : a) sum += x;
    EXPECT_NEAR(sum, 0.0, 1e-12);
    EXPECT_NEAR(a.front(),
                right == 0       ? 0.0
                : right <= wrong ? 0.5
                                 : double(wrong) / (right + wrong),
                1e-12);
  }
}

TEST(WorksWhen, pods_TheRolloutsThatTrainAreStandardisedAmongThemselves) {
  // Rewards 1, 0, 0, 0, of which the first two train: grpo of two, and nothing for the others. Over
  // all four the success would have 1.5, the failure -0.5.
  PlainStep step = votes(1, 3, 0), two = votes(1, 1, 0);
  step.trains = {1, 1, 0, 0};
  const Objective pods("pods"), drawn("pods", {}, {{"moments_of", "drawn"}});
  const Column own = evaluate(pods, step).derivative, alone = evaluate(pods, two).derivative,
               of_all = evaluate(drawn, step).derivative;
  EXPECT_TRUE(near({own[0], own[1]}, alone));
  EXPECT_TRUE(near({own[2], own[3]}, {0.0, 0.0}));
  EXPECT_NEAR(of_all[0], -0.75 / 2 / (0.5 + 1e-4), 1e-12);
  EXPECT_NEAR(of_all[1], 0.25 / 2 / (0.5 + 1e-4), 1e-12);
}

}  // namespace
}  // namespace rollcall::objective::test
