// What the regularizers, their schedules and controllers, and the rows with expert or replayed
// rollouts promise in numbers.
#include "evaluate_step.hpp"
#include "hand_worked.hpp"
#include "objective/recipes.hpp"
#include "objective/surrogate/expert_mix.hpp"

#include <gtest/gtest.h>

#include <array>

namespace rollcall::objective::test {
namespace {

Result run(const std::string& recipe, const PlainStep& step, const Settings& knobs = {},
           const Settings& pieces = {}) {
  return evaluate(Objective(recipe, pieces, knobs), step);
}

/// The worked step; the policy that the optimizer step starts from has lost `divergence` on every
/// token.
PlainStep drifted(double divergence) {
  PlainStep step = worked_step();
  for (auto& r : step.rollouts) {
    r.current = r.old;
    for (double& lp : r.current) lp -= divergence;
  }
  return step;
}

TEST(WorksWhen, disco_TheHingeIsFreeUpToItsBound) {
  const auto coefficient = [](double divergence) {
    return -3 * run("dapo", drifted(divergence), {}, {{"regularizer", "kl_hinge"}}).derivative[0];
  };
  // The first token of the worked step is clipped, so its derivative is the hinge's: -c / 3.
  EXPECT_NEAR(coefficient(3e-4), 0.2, 1e-9);
  EXPECT_EQ(coefficient(1e-5), 0.0);
  EXPECT_EQ(coefficient(-1e-3), 0.0);
}

TEST(WorksWhen, llds_NothingWhereNothingIsLost) {
  PlainStep step;
  step.rollouts.push_back(
      {0, 1.0, false, {-1.5, -0.8, -2.2}, {-1, -1, -2}, {-1, -1, -2}, {1, 1, 1}, {-1, -1, -2}});
  EXPECT_NEAR(run("llds", step).metrics.at("actor/lazy_likelihood_loss"), 0.04667, 1e-5);
  step.rollouts[0].reward = -1.0;  // a negative advantage
  EXPECT_EQ(run("llds", step).metrics.at("actor/lazy_likelihood_loss"), 0.0);
  // the sum has not dropped
  step.rollouts[0].reward = 1.0, step.rollouts[0].now = {-1.5, -0.5, -2.0};
  EXPECT_EQ(run("llds", step).metrics.at("actor/lazy_likelihood_loss"), 0.0);
  EXPECT_TRUE(near(run("llds", step).derivative, run("grpo", step).derivative));
}

TEST(WorksWhen, rapo_TheEstimatorIsNeverNegative) {
  const auto estimate = [](double u) {
    PlainStep step;
    // phi(1) = 1: u = exp(ref - lp)
    step.rollouts.push_back({0, 1.0, false, {-2 - std::log(u)}, {-2}, {-2}, {1}, {-2}});
    return run("rapo", step, {{"reweighted_coef", "1"}}).metrics.at("actor/reweighted_kl_loss");
  };
  EXPECT_NEAR(estimate(1.0), 0.0, 1e-15);
  EXPECT_NEAR(estimate(2.0), 0.386, 1e-3);
  EXPECT_NEAR(estimate(0.5), 0.153, 1e-3);
}

TEST(WorksWhen, rapo_TheEstimateIsTheDivergenceOfTheReweightedReference) {
  // p = .5, .3, .2 with phi 1/2: roots .7071, .5477, .4472 sum to 1.7020; q = .41545, .32180,
  // .26275. KL(q || p) = .017315.
  const Column p{0.5, 0.3, 0.2}, q{0.41545, 0.32180, 0.26275};
  const Settings whole = {{"reweighted_coef", "1"}};
  double expected = 0;
  for (std::size_t v = 0; v < 3; ++v) {
    PlainStep step;  // one token, sampled with its own probability, answer wrong
    step.rollouts.push_back({0,
                             0.0,
                             false,
                             {std::log(p[v])},
                             {std::log(p[v])},
                             {std::log(p[v])},
                             {1},
                             {std::log(p[v])}});
    step.rollouts[0].flat_reference = {0.5 * std::log(p[v]) - std::log(1.7020)};
    expected += p[v] * run("rapo", step, whole).metrics.at("actor/reweighted_kl_loss");
    step.rollouts[0].now = {std::log(q[v])};  // a policy that is the reweighted reference is not
                                              // pulled
    EXPECT_NEAR(run("rapo", step, whole).derivative[0], 0.0, 1e-4);
  }
  EXPECT_NEAR(expected, 0.017315, 1e-5);
}

TEST(WorksWhen, othink_TheCoefficientFollowsItsSchedule) {
  PlainStep step = random_step({3, 2}, 3, 0.3);
  const auto share = [&](const std::string& recipe, const Settings& knobs) {
    return run(recipe, step, knobs).metrics.at("actor/kl_loss");
  };
  const double at_one = share("grpo_kl", {{"kl_coef", "1"}});
  for (const auto& [progress, coef] :
       {std::pair(0.0, 0.01), {0.15, 0.005}, {0.3, 0.0}, {0.65, 0.01}, {1.0, 0.02}}) {
    step.progress = progress;
    EXPECT_NEAR(share("othink-grpo-d", {}), coef * at_one, 1e-12);
    EXPECT_EQ(share("othink-grpo-d", {{"kl_coef", "0.04"}, {"kl_coef_end", "0.04"}}),
              share("grpo_kl", {}));
  }
}

TEST(WorksWhen, kl_AbsoluteAndCorrectedEstimators) {
  PlainStep step;  // old 1/2, now 1/4, reference 1/2: d = ln 2, ratio 1/2; reward 0: no policy loss
  step.rollouts.push_back(
      {0, 0.0, false, {std::log(0.25)}, {std::log(0.5)}, {std::log(0.5)}, {1}, {std::log(0.5)}});
  const Result absolute = run("grpo_kl", step, {{"kl_coef", "1"}, {"kl_estimator", "abs"}});
  EXPECT_NEAR(absolute.loss, std::log(2.0), 1e-12);
  EXPECT_NEAR(absolute.derivative[0], -1.0, 1e-12);
  // rho k3 = (2 - ln 2 - 1) / 2; its derivative is rho times that of d^2/2: -rho d, the gradient of
  // the reverse divergence.
  const Result corrected = run("grpo_kl", step, {{"kl_coef", "1"}, {"kl_correction", "ratio"}});
  EXPECT_NEAR(corrected.loss, (1 - std::log(2.0)) / 2, 1e-12);
  EXPECT_NEAR(corrected.derivative[0], -std::log(2.0) / 2, 1e-12);
}

std::map<std::string, double> after(const std::string& recipe, const PlainStep& step,
                                    const Settings& knobs = {}) {
  const Objective objective(recipe, {}, knobs);
  return Objective::statistics(*objective.prepare(step.columns()));
}

TEST(WorksWhen, ppo_kl_penalty_TheCoefficientDoublesAndHalves) {
  EXPECT_EQ(after("ppo_kl_penalty", drifted(0.016)).at("kl_coef"), 2.0);
  EXPECT_EQ(after("ppo_kl_penalty", drifted(0.010)).at("kl_coef"), 1.0);
  EXPECT_EQ(after("ppo_kl_penalty", drifted(0.006)).at("kl_coef"), 0.5);
  EXPECT_EQ(after("ppo_kl_penalty", drifted(0.0)).at("kl_coef"), 1.0);
  EXPECT_NEAR(
      after("ppo_kl_penalty", drifted(0.5), {{"kl_rule", "proportional"}, {"kl_horizon", "2"}})
          .at("kl_coef"),
      1.2, 1e-12);
  PlainStep step = drifted(0.016);
  const double before = run("ppo_kl_penalty", step).metrics.at("actor/kl_loss");
  step.statistics = after("ppo_kl_penalty", step);
  EXPECT_NEAR(run("ppo_kl_penalty", step).metrics.at("actor/kl_loss"), 2 * before, 1e-12);
}

TEST(WorksWhen, skywork_or1_TheBonusGrowsWhileEntropyIsLow) {
  PlainStep low = worked_step(), high = worked_step();
  for (auto& r : low.rollouts) r.entropy.assign(r.length(), 0.1);
  for (int step = 1; step <= 3; ++step) {
    EXPECT_NEAR(run("skywork_or1", low).metrics.at("actor/adaptive_entropy_loss"),
                -0.1 * 1e-4 * (step - 1), 1e-15);
    low.statistics = after("skywork_or1", low);
    EXPECT_NEAR(low.statistics.at("entropy_coef"), 1e-4 * step, 1e-15);
  }
  high.statistics = low.statistics;  // entropy 1: off at once, and the coefficient falls
  EXPECT_EQ(run("skywork_or1", high).metrics.at("actor/adaptive_entropy_loss"), 0.0);
  EXPECT_NEAR(after("skywork_or1", high).at("entropy_coef"), 2e-4, 1e-15);
}

TEST(WorksWhen, skywork_or1_GroupsWithoutAnAdvantageLeave) {
  PlainStep low = worked_step();
  for (auto& r : low.rollouts) r.entropy.assign(r.length(), 0.1);
  low.statistics = {{"entropy_coef", 0.01}, {"entropy_target", 0.2}};
  const Result alone = run("skywork_or1", low);
  for (int i = 0; i < 2; ++i)
    low.rollouts.push_back(low.rollouts[0]), low.rollouts.back().group = 1;
  const Result joined = run("skywork_or1", low);
  EXPECT_NEAR(joined.loss, alone.loss, 1e-12);
  EXPECT_EQ(joined.derivative.back(), 0.0);
}

TEST(WorksWhen, chord_TheShareOfTheExpert) {
  const ExpertMix piece;
  EXPECT_NEAR(piece.mu(100), 0.25, 1e-12);
  EXPECT_NEAR(piece.mu(400), 0.26, 1e-12);
  EXPECT_NEAR(piece.mu(600), 0.02, 1e-12);
  EXPECT_NEAR(piece.mu(1e6), 0.02, 1e-12);
  const PlainStep step = random_step({3, 2}, 3, 0.3);  // training step 0: mu = 0
  const Result mixed = run("chord", step),
               plain = run("grpo", step, {}, {{"aggregate", "token-mean"}});
  EXPECT_EQ(mixed.loss, plain.loss);
  EXPECT_EQ(mixed.derivative, plain.derivative);
}

/// One place of a text with three possible tokens: the weight that the row gives log p of each
/// token, were it the text's.
std::array<double, 3> weights_of_texts(const std::string& recipe, const std::array<double, 3>& p,
                                       const Settings& knobs) {
  std::array<double, 3> weights{};
  for (std::size_t y = 0; y < 3; ++y) {
    PlainStep step = worked_step();
    step.rollouts[1].now = {std::log(p[y])}, step.rollouts[1].expert = 1.0;
    weights[y] = -run(recipe, step, knobs).derivative.back();
  }
  return weights;
}

TEST(WorksWhen, otr_IsTheExpectationOverItsDraws) {
  const std::array<double, 3> p{0.7, 0.2, 0.1};
  for (const double penalty : {0.0, -0.1}) {
    const double weight =
        weights_of_texts("otr", p, {{"wrong_reward", std::to_string(penalty)}})[0];
    for (std::size_t logit = 0; logit < 3; ++logit) {
      double drawn = 0.0;  // sum over draws a of p_a R_a d log p_a / d logit
      for (std::size_t a = 0; a < 3; ++a)
        drawn += p[a] * (a == 0 ? 1.0 : penalty) * ((a == logit) - p[logit]);
      EXPECT_NEAR(weight * ((logit == 0) - p[logit]), drawn, 1e-12);
    }
    EXPECT_NEAR(weight, 0.7 * (1 - penalty), 1e-12);
  }
}

/// One draw: the text's token 0 with p_0, then L = -lp; another token a with p_a, then L = 0.1 log
/// p_a. Their mean is the row without draws.
TEST(WorksWhen, otr_DrawsTendToTheirExpectation) {
  const std::array<double, 3> p{0.7, 0.2, 0.1};
  const Objective objective("otr", {}, {{"draws", "1"}, {"draw_temperature", "1.5"}});
  const std::string column = "draw_hits/1/1.5";
  const auto columns = objective.columns();
  ASSERT_NE(std::find(columns.begin(), columns.end(), column), columns.end());
  PlainStep step = worked_step();
  step.rollouts[1].now = {std::log(p[0])}, step.rollouts[1].expert = 1.0;
  std::array<double, 3> gradient{};
  for (std::size_t a = 0; a < 3; ++a) {
    StepColumns of_step = step.columns();
    of_step.named[column] = at::tensor({0.0, 0.0, a == 0 ? 1.0 : 0.0}, at::kDouble);
    MicroBatchColumns micro_batch = step.micro_batch(step.all());
    micro_batch.miss_logprob = at::tensor({0.0, 0.0, a == 0 ? 0.0 : std::log(p[a])}, at::kDouble);
    const auto loss = objective.evaluate(*objective.prepare(of_step), micro_batch);
    EXPECT_NEAR(loss.loss, a == 0 ? -std::log(p[0]) : 0.1 * std::log(p[a]), 1e-12);
    const Column hit = values(loss.dlogprob), miss = values(loss.dmiss_logprob);
    EXPECT_EQ(hit, (Column{0.0, 0.0, a == 0 ? -1.0 : 0.0}));
    EXPECT_EQ(miss, (Column{0.0, 0.0, 0.1}));
    for (std::size_t logit = 0; logit < 3; ++logit) {
      const double by_hit = (logit == 0) - p[logit],
                   by_miss = a == 0 ? 0.0 : (a == logit) - p[logit];
      gradient[logit] += p[a] * (hit[2] * by_hit + miss[2] * by_miss);
    }
  }
  const double weight = weights_of_texts("otr", p, {})[0];
  for (std::size_t logit = 0; logit < 3; ++logit)
    EXPECT_NEAR(gradient[logit], -weight * ((logit == 0) - p[logit]), 1e-12);
  EXPECT_THROW(Objective("otr", {}, {{"draw_temperature", "1.5"}}), ConfigError);
  EXPECT_THROW(Objective("otr", {}, {{"draws", "1.5"}}), ConfigError);
}

TEST(WorksWhen, diversity_or_precision_SharpensWhatItLearns) {
  const std::array<double, 3> frequency{0.6, 0.3, 0.1};
  double sharper = 0.0;
  for (const std::string power : {"0.25", "0.5", "1", "2"}) {
    std::array<double, 3> p{};
    double sum = 0.0, entropy = 0.0;
    for (std::size_t y = 0; y < 3; ++y) sum += p[y] = std::pow(frequency[y], 1 / std::stod(power));
    for (double& x : p) x /= sum, entropy -= x * std::log(x);
    const auto weights = weights_of_texts("diversity-or-precision", p, {{"target_power", power}});
    for (std::size_t logit = 0; logit < 3; ++logit) {  // p ~ d^(1/q) is where the mean gradient
                                                       // over the text vanishes
      double gradient = 0.0;
      for (std::size_t y = 0; y < 3; ++y)
        gradient += frequency[y] * weights[y] * ((y == logit) - p[logit]);
      EXPECT_NEAR(gradient, 0.0, 1e-12) << power;
    }
    EXPECT_GT(entropy, sharper) << power;
    sharper = entropy;
  }
  const auto neutral =
      weights_of_texts("diversity-or-precision", {0.7, 0.2, 0.1}, {{"target_power", "1"}});
  EXPECT_EQ(neutral, (std::array<double, 3>{1.0, 1.0, 1.0}));  // cross-entropy
}

/// Group 0: all wrong; group 1: mixed; group 2: all right. Each has an expert's trace besides.
PlainStep three_kinds() {
  PlainStep step = random_step({3, 3, 3}, 21, 0.2);
  for (std::size_t i = 0; i < 9; ++i) {
    auto& r = step.rollouts[i];
    r.now = r.old = r.rollout = r.reference = {-1.0, -2.0}, r.entropy = {1, 1}, r.current.clear(),
    r.truncated = false;
    for (auto* column : {&r.teacher, &r.teacher_kl, &r.current_entropy, &r.old_entropy,
                         &r.sum_squares, &r.old_value, &r.value, &r.masked})
      column->clear();
    r.token.clear();
    r.expert = i % 3 == 2;
    r.correct = r.reward = r.expert == 1.0 || i / 3 == 2 || i == 3;
  }
  return step;
}

TEST(WorksWhen, dypo_PromptsGoThreeWays) {
  const Column d = run("dypo", three_kinds()).derivative;
  const auto pushed = [&](std::size_t rollout) { return d[2 * rollout] != 0.0; };
  EXPECT_FALSE(pushed(0) || pushed(1));  // all wrong: only the expert is learned from
  EXPECT_NEAR(d[4], -1.0 / 2, 1e-12);    // over the two tokens of the only expert that is asked
  EXPECT_TRUE(pushed(3) && pushed(4) && !pushed(5));  // mixed: the policy's own rollouts
  EXPECT_FALSE(pushed(6) || pushed(7) || pushed(8));  // all right: nothing
  // One pair at d = 0: loss ln 2, weight 1/2; alpha 0 leaves it alone. Only the two own rollouts of
  // the mixed prompt count.
  const Result aligned =
      run("dypo", three_kinds(), {{"alignment_alpha", "0"}, {"expert_coef", "0"}});
  EXPECT_NEAR(aligned.loss, std::log(2.0), 1e-12);
  EXPECT_NEAR(aligned.derivative[6], -0.5, 1e-12);
}

/// A scheduler that leaves groups of equal rewards out leaves no own rollout of the solved prompt
/// and of the hopeless one to train, and experts train all the same.
TEST(WorksWhen, dypo_ASolvedPromptThatIsLeftOutIsNotImitated) {
  PlainStep step = three_kinds();
  step.trains = {0, 0, 1, 1, 1, 1, 0, 0, 1};
  const Column left_out = run("dypo", step).derivative, all = run("dypo", three_kinds()).derivative;
  EXPECT_EQ(left_out, all);
  EXPECT_NE(all[4], 0.0);
  EXPECT_EQ(left_out[16], 0.0);
}

TEST(WorksWhen, replay_StoredProbabilitiesAreTheRatiosBase) {
  PlainStep step = random_step({3, 2}, 8, 0.3);
  const double before = run("skywork-r1v2-ssb", step).loss;
  for (auto& r : step.rollouts) {
    for (double& lp : r.old) lp -= 0.3;  // what the step's own policy says does not enter
  }
  EXPECT_EQ(run("skywork-r1v2-ssb", step).loss, before);
  for (auto& r : step.rollouts) r.rollout = r.now;
  EXPECT_NEAR(run("skywork-r1v2-ssb", step).metrics.at("actor/ratio_max"), 1.0, 1e-12);
}

TEST(WorksWhen, replay_DotsClipsAroundTheStepsPolicyAndWeighsAgainstTheStoredProbabilities) {
  PlainStep step = random_step({3, 2}, 8, 0.3);
  for (auto& r : step.rollouts) r.rollout = r.old;
  const double fresh = run("dots-rr", step).loss;
  EXPECT_EQ(fresh, run("grpo", step, {}, {{"aggregate", "token-mean"}}).loss);
  for (auto& r : step.rollouts) {
    for (double& lp : r.rollout) lp -= std::log(7.0);  // above any cap of another row
  }
  EXPECT_NEAR(run("dots-rr", step).loss, 7 * fresh, 1e-12);
}

}  // namespace
}  // namespace rollcall::objective::test
