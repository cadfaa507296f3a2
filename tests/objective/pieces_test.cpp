// Every piece against its plain double loop, on any shape of step.
#include "evaluate_step.hpp"
#include "objective/advantage/batch_whiten.hpp"
#include "objective/recipes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rollcall::objective::test {
namespace {

Result run(const Settings& pieces, const Settings& knobs, const PlainStep& step) { return evaluate(Objective("grpo", pieces, knobs), step); }

std::vector<std::string> names_of(const std::string& family) {
  std::vector<std::string> names;
  for (const auto& card : piece_cards()) {
    if (card.family == family) names.push_back(card.name);
  }
  return names;
}

/// loss = sum c w L and its derivative sum c w L', for any per-token loss given as (token, rollout, place in rollout) -> {L, L'}.
template <class TokenLoss>
bool agrees(const Result& outcome, const PlainStep& step, const Column& coefficient, TokenLoss token_loss) {
  double loss = 0;
  Column derivative;
  std::size_t token = 0;
  for (const auto& r : step.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t, ++token) {
      const auto [value, slope] = token_loss(token, r, t);
      loss += coefficient[token] * value;
      derivative.push_back(coefficient[token] * slope);
    }
  }
  return near(outcome.loss, loss) && near(outcome.derivative, derivative);
}

TEST(Pieces, AdvantagesEqualTheirPlainLoops) {
  for (const auto& name : names_of("advantage")) {
    EXPECT_TRUE(rc::check(name, [&] {
      const PlainStep step = any_step();
      const Column a = plain_advantage(name, step), c = plain_aggregate("token-sum", step);
      // With -A lp and a plain sum the derivative is -A.
      RC_ASSERT(agrees(run({{"advantage", name}, {"surrogate", "reinforce"}, {"aggregate", "token-sum"}}, {}, step), step, c,
                       [&](std::size_t token, const PlainRollout& r, std::size_t t) { return std::pair(-a[token] * r.now[t], -a[token]); }));
    }));
  }
}

TEST(Pieces, AggregatesEqualTheirPlainLoops) {
  for (const auto& name : names_of("aggregate")) {
    EXPECT_TRUE(rc::check(name, [&] {
      const PlainStep step = any_step();
      const bool drop = *rc::gen::arbitrary<bool>();
      const Column a = plain_group_norm(step);
      const Column c = plain_aggregate(name, step, [&](std::size_t i) { return !drop || !step.rollouts[i].truncated; });
      RC_ASSERT(agrees(run({{"aggregate", name}, {"weight", drop ? "drop_truncated" : "none"}}, {}, step), step, c,
                       [&](std::size_t token, const PlainRollout& r, std::size_t t) {
                         const double ratio = std::exp(r.now[t] - r.old[t]);
                         const auto [loss, clipped] = plain_clip(ratio, a[token], 0.2, 0.2);
                         return std::pair(loss, clipped ? 0.0 : -ratio * a[token]);
                       }));
    }));
  }
}

TEST(Pieces, ClipEqualsItsCases) {
  EXPECT_TRUE(rc::check([] {
    const PlainStep step = any_step(0.8);
    const double dual = *rc::gen::element(0.0, 1.6, 3.0);
    const Column a = plain_group_norm(step), c = plain_aggregate("seq-mean-token-mean", step);
    const Result outcome = run({}, {{"clip_low", "0.1"}, {"surrogate.clip_high", "0.5"}, {"dual_clip", std::to_string(dual)}}, step);
    double clipped_tokens = 0;
    RC_ASSERT(agrees(outcome, step, c, [&](std::size_t token, const PlainRollout& r, std::size_t t) {
      const double ratio = std::exp(r.now[t] - r.old[t]);
      const auto [loss, clipped] = plain_clip(ratio, a[token], 0.1, 0.5, dual);
      clipped_tokens += clipped;
      return std::pair(loss, clipped ? 0.0 : -ratio * a[token]);
    }));
    if (!a.empty()) RC_ASSERT(near(outcome.metrics.at("actor/pg_clipfrac"), clipped_tokens / double(a.size())));
  }));
}

TEST(Pieces, SequenceRatioIsTheGeometricMean) {
  EXPECT_TRUE(rc::check([] {
    const PlainStep step = any_step();
    const Column a = plain_group_norm(step), c = plain_aggregate("seq-mean-token-mean", step);
    RC_ASSERT(agrees(run({{"ratio", "sequence"}}, {}, step), step, c, [&](std::size_t token, const PlainRollout& r, std::size_t) {
      double mean = 0;
      for (std::size_t t = 0; t < r.length(); ++t) mean += (r.now[t] - r.old[t]) / double(r.length());
      const auto [loss, clipped] = plain_clip(std::exp(mean), a[token], 0.2, 0.2);
      return std::pair(loss, clipped ? 0.0 : -std::exp(mean) * a[token]);  // T_i tokens, each with 1/T_i of the derivative
    }));
  }));
}

TEST(Pieces, TisMultipliesTheLossAndIsFrozen) {
  EXPECT_TRUE(rc::check([] {
    const PlainStep step = any_step(0.8);
    const Column a = plain_group_norm(step), c = plain_aggregate("seq-mean-token-mean", step);
    RC_ASSERT(agrees(run({{"weight", "tis"}, {"surrogate", "reinforce"}}, {{"tis_cap", "1.5"}}, step), step, c,
                     [&](std::size_t token, const PlainRollout& r, std::size_t t) {
                       const double w = std::min(std::exp(r.old[t] - r.rollout[t]), 1.5);
                       return std::pair(-w * a[token] * r.now[t], -w * a[token]);
                     }));
  }));
}

TEST(Pieces, KlEstimatorsAndTheirDerivatives) {
  for (const std::string anchor : {"old", "reference"}) {
    for (const std::string estimator : {"k2", "k3", "k1+", "k3+"}) {
      EXPECT_TRUE(rc::check(anchor + " " + estimator, [&] {
        PlainStep step = any_step();
        for (auto& r : step.rollouts) r.reward = 0.0;  // no policy loss: the regularizer alone
        const Column c = plain_aggregate("seq-mean-token-mean", step);
        const Result outcome =
            run({{"advantage", "group_center"}, {"regularizer", "kl"}}, {{"kl_coef", "0.5"}, {"kl_estimator", estimator}, {"kl_anchor", anchor}}, step);
        RC_ASSERT(agrees(outcome, step, c, [&](std::size_t, const PlainRollout& r, std::size_t t) {
          const double d = (anchor == "old" ? r.old[t] : r.reference[t]) - r.now[t], k3 = std::exp(d) - d - 1;
          const double value = estimator == "k1+" ? -d : estimator == "k2" ? d * d / 2 : k3;
          return std::pair(0.5 * value, 0.5 * (estimator == "k3" ? 1 - std::exp(d) : -d));
        }));
        RC_ASSERT(near(outcome.metrics.at("actor/kl_loss"), outcome.loss));
      }));
    }
  }
}

TEST(Pieces, EntropyBonusAndKlAddUp) {
  EXPECT_TRUE(rc::check([] {
    const PlainStep step = any_step();
    const Settings both = {{"regularizer", "kl+entropy"}}, knobs = {{"entropy_coef", "0.25"}, {"kl_estimator", "k2"}};
    const Result plain = run({}, {}, step), outcome = run(both, knobs, step);
    const Column c = plain_aggregate("seq-mean-token-mean", step), entropy = step.flat(&PlainRollout::entropy);
    double bonus = 0;
    for (std::size_t t = 0; t < c.size(); ++t) {
      bonus -= 0.25 * c[t] * entropy[t];
      RC_ASSERT(near(outcome.entropy_derivative[t], -0.25 * c[t]));
    }
    RC_ASSERT(near(outcome.metrics.at("actor/entropy_loss"), bonus));
    RC_ASSERT(near(outcome.loss, plain.loss + bonus + outcome.metrics.at("actor/kl_loss")));
  }));
}

TEST(Pieces, ReturnsAreDiscountedFromTheLastToken) {
  EXPECT_TRUE(rc::check([] {
    const PlainStep step = any_step();
    BatchWhiten piece;
    piece.gamma = 0.9;
    RC_ASSERT(near(values(piece(Step(step.columns()))), plain_batch_whiten(step, 0.9)));
  }));
}

TEST(Pieces, MetricsAreMeansOfTheWholeStep) {
  const PlainStep step = random_step({3, 2}, 2, 0.3);
  const auto metrics = run({}, {}, step).metrics;
  double ratio = 0, kl = 0, entropy = 0, advantage = 0, n = 0;
  const Column a = plain_group_norm(step);
  for (const auto& r : step.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t, ++n) {
      ratio += std::exp(r.now[t] - r.old[t]);
      kl += r.old[t] - r.now[t];
      entropy += r.entropy[t];
      advantage += a[std::size_t(n)];
    }
  }
  EXPECT_NEAR(metrics.at("actor/ratio_mean"), ratio / n, 1e-12);
  EXPECT_NEAR(metrics.at("actor/ppo_kl"), kl / n, 1e-12);
  EXPECT_NEAR(metrics.at("actor/entropy"), entropy / n, 1e-12);
  EXPECT_NEAR(metrics.at("critic/advantages/mean"), advantage / n, 1e-12);
  EXPECT_NEAR(metrics.at("critic/advantages/max"), *std::max_element(a.begin(), a.end()), 1e-12);
  EXPECT_EQ(metrics.at("critic/rewards/max"), 1.0);
}

}  // namespace
}  // namespace rollcall::objective::test
