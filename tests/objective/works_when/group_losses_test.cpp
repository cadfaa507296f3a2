// What the methods that couple a group promise in numbers.
#include "evaluate_step.hpp"
#include "objective/advantage/win_rate.hpp"
#include "objective/recipes.hpp"

#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

PlainRollout rollout(double reward, const Column& now, const Column& old) {
  PlainRollout r{0, reward, false, now, old, old, Column(now.size(), 1.0), old};
  r.correct = reward == 1.0 ? 1.0 : 0.0;
  return r;
}
PlainStep group(const std::vector<PlainRollout>& rollouts) { return {rollouts, 10.0}; }
Result run(const std::string& recipe, const PlainStep& step, const Settings& knobs = {},
           const Settings& pieces = {}) {
  return evaluate(Objective(recipe, pieces, knobs), step);
}

/// Single tokens of the given scores: one right answer, the others wrong.
PlainStep scored(const Column& scores) {
  PlainStep step = group({});
  for (const double s : scores)
    step.rollouts.push_back(rollout(step.rollouts.empty() ? 1.0 : 0.0, {s}, {s}));
  return step;
}

TEST(WorksWhen, disco_TheSoftFormTendsToThePlainOne) {
  const PlainStep step = scored({-0.2, -1.0, -0.4});
  EXPECT_NEAR(run("disco", step, {{"contrast_form", "plain"}}).loss, -0.5, 1e-9);
  EXPECT_NEAR(run("disco", step, {{"contrast_tau", "1"}}).loss, -0.4557, 1e-4);
  EXPECT_NEAR(run("disco", step).loss, -0.4955, 1e-3);  // tau 10
  EXPECT_NEAR(run("disco", step, {{"contrast_tau", "1e6"}}).loss, -0.5, 1e-6);
}

TEST(WorksWhen, disco_APromptsDerivativeDoesNotDependOnItsSuccessRate) {
  for (const int wrong : {1, 3, 7}) {
    const Result result = run("disco", scored(Column(std::size_t(wrong + 1), -1.0)));
    EXPECT_NEAR(result.derivative[0], -1.0, 1e-12);
    for (int i = 1; i <= wrong; ++i)
      EXPECT_NEAR(result.derivative[std::size_t(i)], 1.0 / wrong, 1e-12);
  }
}

TEST(WorksWhen, disco_TheHingeIsAMeanOverTokens) {
  // Two prompts of one and three tokens, both solved: nothing to contrast. D = 3e-4, c = 0.2: -0.2
  // / 4 for each of the four tokens, whatever its prompt.
  PlainStep step = group({rollout(1, {-1}, {-1}), rollout(1, {-1, -1, -1}, {-1, -1, -1})});
  step.rollouts[1].group = 1;
  for (auto& r : step.rollouts) r.current = Column(r.length(), -1 - 3e-4);
  for (const double d : run("disco", step).derivative) EXPECT_NEAR(d, -0.05, 1e-9);
}

TEST(WorksWhen, drpo_WeightsAreTheRightAnswersOwn) {
  const double first = 1 / (1 + std::exp(-1.0));
  for (const std::size_t wrong : {1U, 2U, 5U}) {
    PlainStep step = group({rollout(1, {-1}, {-1}), rollout(1, {-2, -1}, {-2, -1})});
    for (std::size_t i = 0; i < wrong; ++i)
      step.rollouts.push_back(rollout(0, {-0.5 - double(i)}, {-0.5 - double(i)}));
    const Column d = run("drpo-decoupled-reward", step).derivative;
    EXPECT_NEAR(d[0], -first, 1e-12);  // 0.7311
    EXPECT_NEAR(d[1] + d[2], -(1 - first), 1e-12);
    EXPECT_NEAR(run("drpo-decoupled-reward", step, {{"length_tau", "0"}}).derivative[0], -0.5,
                1e-12);
  }
}

TEST(WorksWhen, reg_grpo_NoDeadZoneAndZeroAtTheTarget) {
  const double a = 0.5 / (1 / std::sqrt(2.0) + 1e-6);
  const Settings free = {{"regularizer", "none"}};
  PlainStep step = group({rollout(1, {-1 + a}, {-1}), rollout(0, {-1 - a}, {-1})});
  EXPECT_NEAR(run("deepvideo-r1-reg-grpo", step, {}, free).loss, 0.0, 1e-20);
  step.rollouts[0].now = {-1 + std::log(2.0)}, step.rollouts[1].now = {-1};
  // at ratio 2 clip has no derivative left
  EXPECT_LT(run("deepvideo-r1-reg-grpo", step, {}, free).derivative[0], -0.1);
  EXPECT_EQ(run("grpo", step).derivative[0], 0.0);
  // Standardised log-ratios of two rollouts are +-1/sqrt(2), up to the floor: what the advantages
  // of 1, 0 are up to 1e-6.
  const Settings standardised = {{"standardise", "on"}, {"std_floor", "1e-9"}};
  EXPECT_NEAR(run("deepvideo-r1-reg-grpo", step, standardised, free).loss, 0.0, 1e-11);
  step.rollouts[0].now = {-1 - std::log(2.0)};
  // the wrong way round: (2 / sqrt(2))^2
  EXPECT_NEAR(run("deepvideo-r1-reg-grpo", step, standardised, free).loss, 2.0, 1e-5);
  EXPECT_TRUE(
      all_finite(run("deepvideo-r1-reg-grpo", random_step({3, 2}, 1, 500.0), standardised, free)));
}

TEST(WorksWhen, trpa_PairsAndAnisotropy) {
  const auto softplus = [](double x) { return std::log1p(std::exp(x)); };
  const Settings bare = {{"kl_coef", "0"}};
  const auto loss = [&](double high, double low) {
    return run("trpa", group({rollout(high, {-1.0}, {-2.0}), rollout(low, {-1.0}, {-1.0})}), bare)
        .loss;
  };
  EXPECT_NEAR(loss(1.0, 0.0), softplus(-0.25), 1e-12);  // 0.5759
  EXPECT_NEAR(loss(0.5, 0.0), softplus(-0.1), 1e-12);   // 0.6444: the winner is not accepted
  // Levels of 3, 2 and 3 rollouts: 3*2 + 3*3 + 2*3 = 21 pairs, each with derivative -+ beta/2 over
  // 21. One of the lowest level loses 5 of them.
  PlainStep step = group({});
  for (const double r : {1.0, 1.0, 1.0, 0.5, 0.5, 0.0, 0.0, 0.0})
    step.rollouts.push_back(rollout(r, {-1.0}, {-1.0}));
  const Settings isotropic = {{"kl_coef", "0"}, {"anisotropy", "1"}};
  EXPECT_NEAR(run("trpa", step, isotropic).derivative[7], 0.05 * 5 / 21, 1e-12);
  // The loss only knows differences within a prompt.
  const double before = run("trpa", step, isotropic).loss;
  for (auto& r : step.rollouts) r.now[0] += 0.3;
  EXPECT_NEAR(run("trpa", step, isotropic).loss, before, 1e-12);
}

TEST(WorksWhen, trpa_EveryPairOfTheStepCountsAlike) {
  const auto softplus = [](double x) { return std::log1p(std::exp(x)); };
  // One pair with gap 1 in the first prompt, two with gap 0 in the second, none in the third:
  // (softplus(-0.25) + 2 ln 2) / 3.
  // Divergence from the old policy over 7 tokens: 1/e of the first, 1/2 + ln 2 - 1 of the last.
  PlainStep step = group({rollout(1, {-1.0}, {-2.0}), rollout(0, {-1.0}, {-1.0}),
                          rollout(1, {-1.0, -1.0}, {-1.0, -1.0}), rollout(0, {-1.0}, {-1.0}),
                          rollout(0, {-1.0}, {-1.0}), rollout(0, {-1.0}, {-1.0})});
  for (int i = 2; i < 5; ++i) step.rollouts[i].group = 1;
  step.rollouts[5].group = 2;
  EXPECT_NEAR(run("trpa", step, {{"kl_coef", "0"}}).loss, (softplus(-0.25) + 2 * std::log(2.0)) / 3,
              1e-12);
  step.rollouts[5].old = {-1.0 - std::log(2.0)};
  EXPECT_NEAR(run("trpa", step, {{"kl_coef", "7"}}).loss,
              (softplus(-0.25) + 2 * std::log(2.0)) / 3 + std::exp(-1.0) + 0.5 + std::log(2.0) - 1,
              1e-12);
}

TEST(WorksWhen, trpa_AStepOfOneLevelAGroupIsPushedOneByOne) {
  const Settings bare = {{"kl_coef", "0"}};
  const PlainStep right = group({rollout(1, {-1.0}, {-2.0}), rollout(1, {-1.0}, {-1.0})});
  const PlainStep wrong = group({rollout(0, {-1.0}, {-2.0}), rollout(0, {-1.0}, {-1.0})});
  // Mean log-ratios 1 and 0, without beta: (0.31326 + 0.69315) / 2; one of 1/2: 0.47408.
  EXPECT_NEAR(run("trpa", right, bare).loss, (std::log1p(std::exp(-1.0)) + std::log(2.0)) / 2,
              1e-12);
  EXPECT_NEAR(
      run("trpa", group({rollout(1, {-1.0}, {-1.5}), rollout(1, {-1.0}, {-1.5})}), bare).loss,
      0.47408, 1e-5);
  EXPECT_LT(run("trpa", right, bare).derivative[1], 0.0);
  EXPECT_GT(run("trpa", wrong, bare).derivative[1], 0.0);
  // Beside a prompt with a pair, a group of one level teaches nothing.
  PlainStep both = group({rollout(1, {-1.0}, {-2.0}), rollout(0, {-1.0}, {-1.0}),
                          rollout(0, {-1.0}, {-2.0}), rollout(0, {-1.0}, {-1.0})});
  both.rollouts[2].group = both.rollouts[3].group = 1;
  const Column d = run("trpa", both, bare).derivative;
  EXPECT_LT(d[0], 0.0);
  EXPECT_EQ(d[2], 0.0);
  EXPECT_EQ(d[3], 0.0);
}

TEST(WorksWhen, copg_TheMinimumIsTheTiltedReferenceFromAnySamples) {
  // Two arms, reward 1 and 0, beta 1, uniform reference: optimum 0.7311, 0.2689.
  const double p = 1 / (1 + std::exp(-1.0)), half = std::log(0.5);
  for (const int of_first : {1, 5, 9}) {
    PlainStep step = group({});
    for (int i = 0; i < 10; ++i)
      step.rollouts.push_back(
          rollout(i < of_first ? 1 : 0, {std::log(i < of_first ? p : 1 - p)}, {half}));
    const Result result = run("copg", step, {{"regression_beta", "1"}});
    EXPECT_NEAR(result.loss, 0.0, 1e-20);
    for (const double d : result.derivative) EXPECT_NEAR(d, 0.0, 1e-12);
  }
}

TEST(WorksWhen, copg_OnPolicyItIsLeaveOneOutWithKl) {
  PlainStep step =
      group({rollout(1, {-1}, {-1}), rollout(0, {-2}, {-2}), rollout(1, {-0.5}, {-0.5})});
  const double beta = 0.1;
  step.rollouts[1].reference = {-1.2}, step.rollouts[2].reference = {-1.5};
  PlainStep regularised = step;  // RLOO with the reward R - beta log(pi / ref)
  for (auto& r : regularised.rollouts) r.reward -= beta * (r.now[0] - r.reference[0]);
  const Column contrast = run("copg", step).derivative, rloo = run("rloo", regularised).derivative;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(contrast[i], 2 * beta * rloo[i], 1e-12);
}

TEST(WorksWhen, pacs_StartsAtLnTwoAndItsPushSumsToZero) {
  EXPECT_NEAR(
      run("pacs", group({rollout(1, {-1}, {-1}), rollout(0, {-2}, {-2}), rollout(0, {-3}, {-3})}))
          .loss,
      std::log(2.0), 1e-12);
  // u = 0.2, -0.2: psi = 0.4, -0.4
  const PlainStep step = group({rollout(1, {-0.8}, {-1}), rollout(0, {-2.2}, {-2})});
  const Result result = run("pacs", step);
  EXPECT_NEAR(result.loss, 0.5130, 1e-4);
  EXPECT_NEAR(result.derivative[0] + result.derivative[1], 0.0, 1e-12);
}

TEST(WorksWhen, real_labels_BoundedWeights) {
  const auto at = [](double score) {
    return group({rollout(1, {-1 + score}, {-1}), rollout(0, {-1}, {-1})});
  };
  const Result start = run("real-labels", at(0.0));
  EXPECT_NEAR(start.loss, 2 * std::log(2.0), 1e-12);
  EXPECT_NEAR(start.derivative[0], -1.0, 1e-12);
  EXPECT_NEAR(start.derivative[1], 1.0, 1e-12);
  EXPECT_NEAR(run("real-labels", at(-15.0)).derivative[0], -2.0, 1e-9);  // 1 / tau
  double before = -2.0;
  for (const double score : {-5.0, -1.0, 0.0, 1.0, 5.0}) {
    const double now = run("real-labels", at(score)).derivative[0];
    EXPECT_GT(now, before);
    before = now;
  }
  EXPECT_NEAR(run("real-labels", at(0.0), {{"label_form", "product"}}).loss, std::log(2.0), 1e-12);
  EXPECT_NEAR(run("real-labels", at(0.0), {{"label_form", "bce"}}).loss, std::log(2.0), 1e-12);
  // one class only
  EXPECT_EQ(run("real-labels", group({rollout(1, {-1}, {-2}), rollout(1, {-3}, {-1})})).loss, 0.0);
}

TEST(WorksWhen, gvpo_and_rebel_AreMeansOverPairs) {
  // What both papers start from: every pair's difference of log-ratios fitted to its difference of
  // rewards. REBEL is the mean of the squares; GVPO, with beta = 0.1 on the log-ratios and 1 / (n -
  // 1) of half the squares around the mean, is a quarter of it.
  PlainStep step = group({});
  for (const double reward : {1.0, 0.0, 0.25, 1.0}) {
    const double n = double(step.rollouts.size());
    step.rollouts.push_back(rollout(reward, {-1.0 + 0.1 * n, -0.5}, {-1.2, -0.5 - 0.2 * n * n}));
  }
  const auto over_pairs = [&](double beta) {
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const auto score = [&](std::size_t k) {
          const auto& r = step.rollouts[k];
          return r.reward - beta * (r.now[0] - r.old[0] + r.now[1] - r.old[1]);
        };
        sum += (score(i) - score(j)) * (score(i) - score(j)) / 6;
      }
    }
    return sum;
  };
  EXPECT_NEAR(run("rebel", step).loss, over_pairs(1.0), 1e-12);
  EXPECT_NEAR(run("gvpo", step).loss, 0.25 * over_pairs(0.1), 1e-12);
}

TEST(WorksWhen, nft_OnPolicyItIsDrGrpo) {
  const PlainStep step = random_step({4, 3}, 5, 0.0);
  const Column nft = run("nft", step).derivative,
               centred = run("dr_grpo", step, {}, {{"aggregate", "token-mean"}}).derivative;
  EXPECT_TRUE(near(nft, centred, 1e-9));
}

TEST(WorksWhen, nft_QuestionsThatAllOrNoneSolveLeave) {
  PlainStep step = random_step({4}, 5, 0.2);
  const Result alone = run("nft", step);
  for (const double reward : {1.0, 0.0}) {
    for (int i = 0; i < 2; ++i)
      step.rollouts.push_back(rollout(reward, {-1.0}, {-1.2})),
          step.rollouts.back().group = reward > 0 ? 1 : 2;
  }
  EXPECT_NEAR(run("nft", step).loss, alone.loss, 1e-12);
}

TEST(WorksWhen, sppo_TheWinRateIsOverAllSamplesOfTheGroup) {
  // Of four answers the best beats three and ties with itself: 3.5 / 4, and so on down; equals
  // share.
  PlainStep step = group({});
  for (const double reward : {1.0, 0.5, 0.5, 0.0})
    step.rollouts.push_back(rollout(reward, {-1.0}, {-1.0}));
  const Column a = values(Advantage(WinRate{}(Step(step.columns()))).advantage);
  EXPECT_TRUE(near(a, Column{0.375, 0.0, 0.0, -0.375}));
}

}  // namespace
}  // namespace rollcall::objective::test
