// Prompt-GDRO by hand: scores, weights, probabilities, and the log-sum-exp bound of Lemma 4.1.
#include "scheduling/game/prompt_game.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::scheduling {
namespace {

BinResults results(std::vector<std::int64_t> groups, std::vector<double> signal) {
  return {.groups = std::move(groups), .rollouts = {}, .signal = std::move(signal)};
}

PromptGame with(const std::vector<std::pair<std::string, std::string>>& knobs) {
  PromptGame game;
  ConfigSchema schema;
  game.bind(schema);
  for (const auto& [key, value] : knobs) schema.set(key + "=" + value);
  return game;
}

TEST(PromptGame, ScoresAreFadingMeansByHand) {
  PromptGame game;
  game.learn(results({3, 1, 0}, {0.25, 1.0, NAN}));
  EXPECT_NEAR(game.score(0), 0.03, 1e-15);  // 0.12 * 0.25
  EXPECT_NEAR(game.score(1), 0.12, 1e-15);
  EXPECT_EQ(game.score(2), 0.0);
  game.learn(results({1, 0, 1}, {1.0, NAN, 0.5}));
  EXPECT_NEAR(game.score(0), 0.1464, 1e-15);  // 0.88 * 0.03 + 0.12
  EXPECT_NEAR(game.score(1), 0.12, 1e-15);    // a bin without a prompt keeps its score
  EXPECT_NEAR(game.score(2), 0.06, 1e-15);
}

TEST(PromptGame, AScoreMayBeginWithItsFirstSignal) {
  PromptGame game = with({{"score_start", "first"}});
  game.learn(results({3, 1}, {0.25, NAN}));
  EXPECT_EQ(game.score(0), 0.25);
  EXPECT_EQ(game.score(1), 0.0);  // nothing yet
  PromptGame resumed = with({{"score_start", "first"}});
  resumed.load(nlohmann::json::parse(game.save().dump()), 2);
  for (PromptGame* g : {&game, &resumed}) {
    g->learn(results({3, 1}, {1.0, -0.5}));
    EXPECT_NEAR(g->score(0), 0.34, 1e-15);  // 0.88 * 0.25 + 0.12
    EXPECT_EQ(g->score(1), -0.5);
  }
}

TEST(PromptGame, ScoresBeyondTheCapAreCounted) {
  PromptGame game, wide = with({{"score_cap", "5"}});
  const nlohmann::json state{{"scores", {0.0, 3.0, 3.5, -4.0, nullptr}}};
  game.load(state, 5), wide.load(state, 5);
  EXPECT_EQ(game.clipped(), 2);  // the cap is 3
  EXPECT_EQ(wide.clipped(), 0);
}

TEST(PromptGame, ProbabilitiesOfTheBinsThatAreThere) {
  PromptGame game;
  game.load({{"scores", {0.0, 0.5, 2.0}}}, 3);
  const auto q = game.probabilities(std::vector<std::int64_t>{7, 1, 0});
  EXPECT_NEAR(q[0], 0.420263, 1e-6);  // as if the third were not
  EXPECT_NEAR(q[1], 0.579737, 1e-6);
  EXPECT_EQ(q[2], 0.0);
}

TEST(PromptGame, LossOverShareByHand) {
  PromptGame game = with({{"share_floor", "0.1"}, {"beta", "1"}});
  game.learn(results({5, 14, 1}, {0.2, 0.7, 0.2}));
  EXPECT_NEAR(game.score(0), 0.8, 1e-15);  // share 1/4
  EXPECT_NEAR(game.score(1), 1.0, 1e-15);  // share 0.7
  EXPECT_NEAR(game.score(2), 2.0, 1e-15);  // share 0.05, held up at 0.1
}

TEST(PromptGame, WeightsAndProbabilitiesByHand) {
  PromptGame game;
  game.load({{"scores", {0.0, 0.5}}}, 2);
  EXPECT_EQ(game.weight(0), 1.0);
  EXPECT_NEAR(game.weight(1), 1.384031, 1e-6);  // exp(0.325)
  const auto q = game.probabilities(2);
  EXPECT_NEAR(q[0], 0.420263, 1e-6);  // 0.99 / 2.384031 + 0.005
  EXPECT_NEAR(q[1], 0.579737, 1e-6);  // 0.99 * 1.384031 / 2.384031 + 0.005
}

TEST(PromptGame, ScoresAndWeightsAreCapped) {
  PromptGame game = with({{"eta", "1"}, {"weight_cap", "15"}});
  game.load({{"scores", {-9.0, 9.0, 1.0}}}, 3);
  EXPECT_NEAR(game.weight(0), 0.049787, 1e-6);   // exp(-3): the score counts as -C
  EXPECT_NEAR(game.weight(1), 20.085537, 1e-6);  // exp(3)
  EXPECT_EQ(game.capped_weight(1), 15.0);
  EXPECT_NEAR(game.capped_weight(2), 2.718282, 1e-6);
}

TEST(PromptGame, RefusesTheStateOfOtherBins) {
  PromptGame game;
  EXPECT_THROW(game.load({{"scores", {0.1, 0.2}}}, 3), StorageError);
  EXPECT_ANY_THROW(game.load({{"scores", "none"}}, 3));
}

// Lemma 4.1: q_eta attains R_eta = (1/eta) log sum_b exp(eta L_b) = max_q sum_b q_b L_b + H(q) /
// eta, and max L <= R_eta <= max L + log(B) / eta.
TEST(PromptGame, EntropicBestResponseIsWithinLogBOverEtaOfTheWorstBin) {
  EXPECT_TRUE(rc::check("Lemma 4.1", [] {
    const auto bins = std::size_t(*rc::gen::inRange(1, 12));
    const double eta = double(*rc::gen::inRange(1, 2000)) / 100.0;
    std::vector<double> loss(bins);
    for (double& l : loss) l = double(*rc::gen::inRange(-3000, 3001)) / 1000.0;
    PromptGame game = with({{"eta", std::to_string(eta)}, {"gamma", "0"}});
    game.load({{"scores", loss}}, bins);
    const auto value = [&](const std::vector<double>& q) {
      double sum = 0.0;
      for (std::size_t b = 0; b < bins; ++b)
        sum += q[b] * loss[b] - (q[b] > 0 ? q[b] * std::log(q[b]) / eta : 0.0);
      return sum;
    };
    double sum = 0.0;
    for (std::size_t b = 0; b < bins; ++b) sum += game.weight(b);
    const double surrogate = std::log(sum) / eta,
                 worst = *std::max_element(loss.begin(), loss.end());
    const auto best = game.probabilities(bins);
    RC_ASSERT(std::abs(value(best) - surrogate) < 1e-9);
    RC_ASSERT(worst <= surrogate + 1e-9 &&
              surrogate <= worst + std::log(double(bins)) / eta + 1e-9);
    std::vector<double> other(bins);  // no other distribution does better
    for (double& x : other) x = 1e-6 + double(*rc::gen::inRange(0, 1000));
    const double total = std::accumulate(other.begin(), other.end(), 0.0);
    for (double& x : other) x /= total;
    RC_ASSERT(value(other) <= value(best) + 1e-9);
  }));
}

}  // namespace
}  // namespace rollcall::scheduling
