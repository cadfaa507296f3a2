// The learner of simulations against a textbook AdamW, written out for one coordinate.
#include "scheduling/trace/learner.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace rollcall::scheduling {
namespace {

constexpr std::size_t kCell = 7;  // domain 1, level 2: a level below and one above

StepGradient gradient(double signal, double squares = 0.0) {
  StepGradient g;
  g.signal[kCell] = signal, g.squares = squares;
  return g;
}

// Every coordinate whose gain reaches the cell sees the same gradient but for a factor, which Adam
// takes out: all move as one.
TEST(Learner, IsAdamAndAGainReachesItsNeighbours) {
  constexpr double kRate = 0.01;
  Learner learner(kRate, 0.0, 1);
  double theta = 0.0, m = 0.0, v = 0.0;
  int t = 0;
  for (const double g : {1.0, -0.5, 2.0, 0.0, 0.0}) {
    learner.step(gradient(g));
    ++t;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    theta +=
        kRate * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
    EXPECT_NEAR(learner.skill(kCell), (1 + 2 * 0.3 + 7 * 0.1) * theta, 1e-8) << t;
  }
  // the same level of another domain
  EXPECT_NEAR(learner.skill(3 * kSkillLevels + 2), (1 + 7 * 0.1) * theta, 1e-8);
  // a level above: it moved, and so did one of its neighbours
  EXPECT_NEAR(learner.skill(kCell + 1), (1 + 0.3) * theta, 1e-8);
  EXPECT_EQ(learner.skill(3 * kSkillLevels + 4), 0.0);
}

TEST(Learner, ASmallerOrLargerGradientIsTheSameStep) {
  Learner one(0.01, 3.0, 1), twice(0.01, 3.0, 1);
  for (int t = 1; t <= 50; ++t) {
    const double signal = std::sin(t), squares = 1.0 + t % 3;
    one.step(gradient(signal, squares)), twice.step(gradient(2 * signal, 4 * squares));
    EXPECT_NEAR(one.skill(kCell), twice.skill(kCell), 1e-6) << t;
  }
  EXPECT_NE(one.skill(kCell), 0.0);
}

// Progress per step follows the signal over the noise while that is small: twice the noise, half
// the way.
TEST(Learner, NoiseCostsProgress) {
  const auto way = [](double noise) {
    double sum = 0.0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      Learner learner(0.01, noise, seed);
      for (int t = 0; t < 200; ++t) learner.step(gradient(1.0, 1.0));
      sum += learner.skill(kCell) / 40;
    }
    return sum;
  };
  const double none = way(0.0), some = way(4.0), more = way(8.0);
  EXPECT_NEAR(none, 200 * 0.01 * 2.3, 0.01);
  EXPECT_LT(some, 0.5 * none);
  EXPECT_NEAR(more / some, 0.5, 0.1);
}

TEST(Learner, NoiseIsOfEveryCoordinateItsOwn) {
  Learner learner(0.01, 3.0, 1);
  learner.step({.signal = {}, .squares = 1.0});  // Adam's first step: the rate, up or down
  int up = 0, down = 0;
  for (std::size_t cell = 0; cell < Skills{}.size(); ++cell)
    (learner.skill(cell) > 0 ? up : down) += 1;
  EXPECT_GT(up, 8);
  EXPECT_GT(down, 8);
}

TEST(Learner, NothingComesOfNothing) {
  Learner learner(0.01, 3.0, 1);
  for (int t = 0; t < 10; ++t) learner.step({});
  for (std::size_t cell = 0; cell < Skills{}.size(); ++cell) EXPECT_EQ(learner.skill(cell), 0.0);
}

}  // namespace
}  // namespace rollcall::scheduling
