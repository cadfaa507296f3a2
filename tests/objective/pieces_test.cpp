// Every piece against its plain double loop, on any shape of step.
#include "objective/pieces.hpp"
#include "objective/advantage/batch_whiten.hpp"
#include "objective/columns.hpp"
#include "objective/recipes.hpp"
#include "properties.hpp"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

namespace rollcall::objective::test {
namespace {

Result run(const Settings& pieces, const Settings& knobs, const PlainStep& step) {
  return evaluate(Objective("grpo", pieces, knobs), step);
}

std::vector<std::string> names_of(const std::string& family) {
  std::vector<std::string> names;
  for (const auto& card : piece_cards()) {
    if (card.family == family) names.push_back(card.name);
  }
  return names;
}

/// loss = sum c w L and its derivative sum c w L', for any per-token loss given as (token, rollout,
/// place in rollout) -> {L, L'}.
template <class TokenLoss>
bool agrees(const Result& outcome, const PlainStep& step, const Column& coefficient,
            TokenLoss token_loss) {
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

template <class Function>
Function make(PieceTable<Function> table, const std::string& name, Knobs& knobs) {
  return std::find_if(table.begin(), table.end(), [&](const auto& p) { return p.name == name; })
      ->make(knobs);
}
template <class Function>
Function make(PieceTable<Function> table, const std::string& name) {
  Knobs knobs;  // the piece keeps its own settings alive
  knobs.enter("", name);
  return make(table, name, knobs);
}

/// The step as a piece late in the order finds it: with standardised rewards for advantages.
Step step_with_advantage(const PlainStep& plain) {
  Step step(plain.columns());
  step.advantage = at::tensor(plain_advantage("group_norm", plain), at::kDouble);
  return step;
}
Column or_ones(const at::Tensor& column, std::size_t n) {
  return column.defined() ? values(column) : Column(n, 1.0);
}
Column or_ones(const Column& column, std::size_t n) {
  return column.empty() ? Column(n, 1.0) : column;
}

/// A comparison that only ever saw a piece do nothing proves nothing: each loop below notes whether
/// some case had an effect.
bool differs(const Column& column, double from) {
  return std::any_of(column.begin(), column.end(),
                     [&](double x) { return std::abs(x - from) > 1e-9; });
}
constexpr const char* kSilent =
    ": no case had an effect, so both sides may be wrong; let a step show the piece at work";

/// A step in which every piece has something to do: the policy has moved since it sampled, experts
/// take part, controllers have left their statistics, and now and then a group's rewards are equal,
/// or answers repeat themselves and lie far from the reference.
PlainStep busy_step() {
  PlainStep step = later(step_with_experts());
  step.progress = *rc::gen::element(0.0, 0.6, 1.0);
  for (auto& r : step.rollouts) {
    if (r.key % 5 == 0) r.token.assign(r.length(), 1);
    if (r.key % 5 == 1 && r.length() > 0) r.reference[0] -= 6.0;
  }
  if (*any_of(0, 3) == 0) {
    for (auto& r : step.rollouts) {
      if (r.group == 0) r.reward = step.rollouts[0].reward, r.correct = step.rollouts[0].correct;
    }
  }
  step.statistics = {{"entropy_coef", 0.02}, {"entropy_target", 1.5}, {"entropy_history", 1.2},
                     {"first_entropy", 0.5}, {"moving_count", 4.0},   {"moving_sum", 1.0},
                     {"moving_squares", 2.0}};
  return step;
}

TEST(Pieces, RewardsEqualTheirPlainLoops) {
  for (const auto& name : names_of("reward")) {
    bool spoke = false;
    EXPECT_TRUE(rc::check(name, [&] {
      const PlainStep step = busy_step();
      const ShapedReward shaped = make(rewards(), name)(Step(step.columns()));
      spoke = spoke || shaped.token_reward.defined() || shaped.turn_reward.defined() ||
              !shaped.statistics.empty();
      if (!shaped.reward.defined()) return;
      const Column got = values(shaped.reward);
      for (std::size_t i = 0; i < got.size(); ++i)
        spoke = spoke || got[i] != step.rollouts[i].reward;
      RC_ASSERT(near(got, plain_pieces().reward.at(name)(step)));
    }));
    EXPECT_TRUE(spoke) << name << kSilent;
  }
}

TEST(Pieces, AdvantagesEqualTheirPlainLoops) {
  for (const auto& name : names_of("advantage")) {
    bool spoke = false;
    EXPECT_TRUE(rc::check(name, [&] {
      const PlainStep step = busy_step();
      const Column got = values(make(advantages(), name)(Step(step.columns())).advantage);
      spoke = spoke || differs(got, 0.0);
      RC_ASSERT(near(got, plain_advantage(name, step)));
    }));
    EXPECT_TRUE(spoke) << name << kSilent;
  }
}

TEST(Pieces, WeightsEqualTheirPlainLoops) {
  for (const auto& name : names_of("weight")) {
    bool spoke = false;
    EXPECT_TRUE(rc::check(name, [&] {
      const PlainStep plain = busy_step();
      Step step = step_with_advantage(plain);
      step.advantage = 2 * step.advantage;  // some beyond what groups of eight can have
                                            // standardised
      const TokenWeight w = make(weights(), name)(step);
      const PlainWeight expected = plain_pieces().weight.at(name)(plain, values(step.advantage));
      const auto n = std::size_t(step.shape.tokens);
      spoke = spoke || differs(or_ones(w.factor, n), 1.0) || differs(or_ones(w.keep, n), 1.0) ||
              w.lr_factor != 1.0;
      RC_ASSERT(near(or_ones(w.factor, n), or_ones(expected.factor, n)));
      RC_ASSERT(near(or_ones(w.keep, n), or_ones(expected.keep, n)));
    }));
    EXPECT_TRUE(spoke) << name << kSilent;
  }
}

TEST(Pieces, AggregatesEqualTheirPlainLoops) {
  for (const auto& name : names_of("aggregate")) {
    EXPECT_TRUE(rc::check(name, [&] {
      const PlainStep plain = step_with_experts();
      Step step = step_with_advantage(plain);
      if (*rc::gen::arbitrary<bool>())
        step.keep = make(weights(), "drop_truncated")(step).keep, step.count();
      const Column keep = or_ones(step.keep, std::size_t(step.shape.tokens));
      Column got = values(make(aggregates(), name)(step)),
             expected = plain_pieces().aggregate.at(name)(plain, values(step.advantage), keep);
      for (std::size_t t = 0; t < got.size(); ++t) got[t] *= keep[t], expected[t] *= keep[t];
      RC_ASSERT(near(got, expected));
    }));
  }
}

TEST(Pieces, RatiosEqualTheirPlainLoops) {
  for (const auto& name : names_of("ratio")) {
    bool spoke = false;
    EXPECT_TRUE(rc::check(name, [&] {
      const PlainStep plain = busy_step();
      const Step step = step_with_advantage(plain);
      const Column got =
          values(make(ratios(), name)(MicroBatchTensors(step, plain.micro_batch(plain.all()))));
      spoke = spoke || differs(got, 1.0);
      RC_ASSERT(near(got, plain_pieces().ratio.at(name)(plain)));
    }));
    EXPECT_TRUE(spoke) << name << kSilent;
  }
}

/// Loss and derivative of `tensor`, under random coefficients, against a plain version that may
/// leave the derivative to central differences.
template <class Plain>
bool agrees(const at::Tensor& loss, const MicroBatchTensors& micro_batch, const PlainStep& step,
            Plain plain) {
  const TokenLosses expected = plain(step);
  Column coefficient;
  for (std::size_t t = 0; t < expected.loss.size(); ++t) coefficient.push_back(0.1 + double(t % 7));
  if (!near(values(loss), expected.loss)) return false;
  std::vector<at::Tensor> inputs{micro_batch.logprob, micro_batch.entropy, micro_batch.value};
  std::vector<at::Tensor> slope(3);
  const at::Tensor total = (loss * at::tensor(coefficient, at::kDouble)).sum();
  if (total.requires_grad()) slope = torch::autograd::grad({total}, inputs, {}, false, false, true);
  const auto against = [&](const at::Tensor& got, Column wanted) {
    for (std::size_t t = 0; t < wanted.size(); ++t) wanted[t] *= coefficient[t];
    return near(got.defined() ? values(got) : Column(coefficient.size(), 0.0),
                wanted.empty() ? Column(coefficient.size(), 0.0) : wanted);
  };
  if (!against(slope[1], expected.entropy_slope) || !against(slope[2], expected.value_slope))
    return false;
  if (!expected.slope.empty()) return against(slope[0], expected.slope);
  const auto plain_total = [&](const PlainStep& moved) {
    const Column l = plain(moved).loss;
    double sum = 0;
    for (std::size_t t = 0; t < l.size(); ++t) sum += coefficient[t] * l[t];
    return sum;
  };
  // A bound that lies within 1e-6 of a token bends the loss there: on the token's own side of it
  // the slope is right.
  const Column got = slope[0].defined() ? values(slope[0]) : Column(coefficient.size(), 0.0);
  const Column around = numerical_slope(step, plain_total),
               left = numerical_slope(step, plain_total, -1e-6, 0.0),
               right = numerical_slope(step, plain_total, 0.0, 1e-6);
  for (std::size_t t = 0; t < got.size(); ++t) {
    if (!near(got[t], around[t], 1e-5) && !near(got[t], left[t], 1e-5) &&
        !near(got[t], right[t], 1e-5))
      return false;
  }
  return true;
}

TEST(Pieces, SurrogatesEqualTheirPlainLoops) {
  for (const auto& name : names_of("surrogate")) {
    bool spoke = false;
    EXPECT_TRUE(rc::check(name, [&] {
      const PlainStep plain = busy_step();
      const Step step = step_with_advantage(plain);
      const MicroBatchTensors micro_batch(step, plain.micro_batch(plain.all()));
      const Column a = values(step.advantage);
      const at::Tensor loss =
          make(surrogates(), name)(micro_batch, make(ratios(), "token")(micro_batch)).loss;
      spoke = spoke || differs(values(loss), 0.0);
      RC_ASSERT(agrees(loss, micro_batch, plain, [&](const PlainStep& s) {
        return plain_pieces().surrogate.at(name)(s, a, plain_pieces().ratio.at("token")(s));
      }));
    }));
    EXPECT_TRUE(spoke) << name << kSilent;
  }
}

TEST(Pieces, RegularizersEqualTheirPlainLoops) {
  for (const auto& name : names_of("regularizer")) {
    bool spoke = false;
    EXPECT_TRUE(rc::check(name, [&] {
      const PlainStep plain = busy_step();
      const Step step = step_with_advantage(plain);
      const MicroBatchTensors micro_batch(step, plain.micro_batch(plain.all()));
      const at::Tensor loss = make(regularizers(), name)(micro_batch);
      spoke = spoke || differs(values(loss), 0.0);
      RC_ASSERT(agrees(loss, micro_batch, plain, plain_pieces().regularizer.at(name)));
    }));
    EXPECT_TRUE(spoke) << name << kSilent;
  }
}

TEST(Pieces, ClipEqualsItsCases) {
  EXPECT_TRUE(rc::check([] {
    const PlainStep step = any_step(0.8);
    const double dual = *rc::gen::element(0.0, 1.6, 3.0);
    const Column a = plain_advantage("group_norm", step),
                 c = plain_aggregate("seq-mean-token-mean", step);
    const Result outcome = run(
        {},
        {{"clip_low", "0.1"}, {"surrogate.clip_high", "0.5"}, {"dual_clip", std::to_string(dual)}},
        step);
    double clipped_tokens = 0;
    RC_ASSERT(
        agrees(outcome, step, c, [&](std::size_t token, const PlainRollout& r, std::size_t t) {
          const double ratio = std::exp(r.now[t] - r.old[t]);
          const auto [loss, clipped] = plain_clip(ratio, a[token], 0.1, 0.5, dual);
          clipped_tokens += clipped;
          return std::pair(loss, clipped ? 0.0 : -ratio * a[token]);
        }));
    if (!a.empty())
      RC_ASSERT(near(outcome.metrics.at("actor/pg_clipfrac"), clipped_tokens / double(a.size())));
  }));
}

TEST(Pieces, TisMultipliesTheLossAndIsFrozen) {
  EXPECT_TRUE(rc::check([] {
    const PlainStep step = any_step(0.8);
    const Column a = plain_advantage("group_norm", step),
                 c = plain_aggregate("seq-mean-token-mean", step);
    RC_ASSERT(
        agrees(run({{"weight", "tis"}, {"surrogate", "reinforce"}}, {{"tis_cap", "1.5"}}, step),
               step, c, [&](std::size_t token, const PlainRollout& r, std::size_t t) {
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
            run({{"advantage", "group_center"}, {"regularizer", "kl"}},
                {{"kl_coef", "0.5"}, {"kl_estimator", estimator}, {"kl_anchor", anchor}}, step);
        RC_ASSERT(agrees(outcome, step, c, [&](std::size_t, const PlainRollout& r, std::size_t t) {
          const double d = (anchor == "old" ? r.old[t] : r.reference[t]) - r.now[t],
                       k3 = std::exp(d) - d - 1;
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
    const Settings both = {{"regularizer", "kl+entropy"}},
                   knobs = {{"entropy_coef", "0.25"}, {"kl_estimator", "k2"}};
    const Result plain = run({}, {}, step), outcome = run(both, knobs, step);
    const Column c = plain_aggregate("seq-mean-token-mean", step),
                 entropy = step.flat(&PlainRollout::entropy);
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
  // Tokens to go: 2, 1, 0 at gamma 1/2 and reward 1: returns 1/4, 1/2, 1; mean 7/12, squares (16 +
  // 1 + 25) / 144 / 3 = 7/72.
  PlainStep step{{PlainRollout{
      0, 1.0, false, {-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}, {1, 1, 1}, {-1, -1, -1}}}};
  BatchWhiten piece;
  piece.gamma = 0.5;
  const double spread = std::sqrt(7.0 / 72) + 1e-8;
  EXPECT_TRUE(near(values(piece(Step(step.columns()))),
                   Column{-4.0 / 12 / spread, -1.0 / 12 / spread, 5.0 / 12 / spread}));
}

TEST(Pieces, MetricsAreMeansOfTheWholeStep) {
  const PlainStep step = random_step({3, 2}, 2, 0.3);
  const auto metrics = run({}, {}, step).metrics;
  double ratio = 0, kl = 0, entropy = 0, advantage = 0, n = 0;
  const Column a = plain_advantage("group_norm", step);
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
