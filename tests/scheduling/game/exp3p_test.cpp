// EXP3.P by hand, and that it finds the better arm.
#include "scheduling/game/exp3p.hpp"

#include "base/numbers/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::scheduling {
namespace {

TEST(Exp3p, OneUpdateByHand) {
  Exp3p bandit(2, 100, 0.05);
  // gamma = 2 sqrt(0.6 * 2 * ln 2 / 100) = 0.182404; alpha = 2 sqrt(ln 4000) = 5.759878; rate gamma
  // / 6 = 0.0304007
  EXPECT_NEAR(bandit.exploration(), 0.182404, 1e-6);
  EXPECT_EQ(bandit.probabilities(), (std::vector<double>{0.5, 0.5}));
  bandit.learn(0, 0.8);
  // played: rate * (0.8 / 0.5 + 5.759878 / (0.5 * 14.142136)), other: rate * 5.759878 / (0.5 *
  // 14.142136); they differ by rate * 1.6
  EXPECT_EQ(bandit.log_weights()[0], 0.0);
  EXPECT_NEAR(bandit.log_weights()[1], -0.0486410, 1e-6);
  // 0.817596 / (1 + exp(-0.0486410)) + 0.091202
  EXPECT_NEAR(bandit.probabilities()[0], 0.509940, 1e-6);
  bandit.learn(1, 0.0);
  // No reward: only the confidence term, which is larger where the probability is smaller: rate *
  // 0.407285 * (1 / 0.490060 - 1 / 0.509940) = 0.000985003
  EXPECT_NEAR(bandit.log_weights()[1], -0.0476560, 1e-6);
}

TEST(Exp3p, ExplorationIsBoundedAndProbabilitiesAreOne) {
  Exp3p bandit(11, 2, 0.05);
  EXPECT_EQ(bandit.exploration(), 0.6);
  for (int round = 0; round < 100000; ++round) bandit.learn(3, 1.0);  // far past the range of exp()
  const auto p = bandit.probabilities();
  EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1.0, 1e-12);
  EXPECT_GE(*std::min_element(p.begin(), p.end()), 0.6 / 11 - 1e-12);
}

TEST(Exp3p, DrawnByItsProbabilitiesItFindsTheBestArm) {
  Exp3p bandit(5, 5000, 0.05);
  const RandomStream random(1, RandomPurpose::test);
  std::vector<int> late(5);
  for (std::uint64_t round = 0; round < 5000; ++round) {
    const auto p = bandit.probabilities();
    double u = random.uniform(2 * round);
    std::size_t arm = 0;
    while (arm + 1 < p.size() && u >= p[arm]) u -= p[arm++];
    bandit.learn(arm, random.uniform(2 * round + 1) < (arm == 3 ? 0.7 : 0.4) ? 1.0 : 0.0);
    late[arm] += round >= 4000;
  }
  EXPECT_EQ(std::max_element(late.begin(), late.end()) - late.begin(), 3);
  EXPECT_GT(late[3], 500);
}

}  // namespace
}  // namespace rollcall::scheduling
