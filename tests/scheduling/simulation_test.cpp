// The synthetic learner, and how policies behave on it: what a change of a policy must not lose.
#include "scheduling/simulation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

namespace rollcall::scheduling {
namespace {

Simulation small(std::uint64_t seed = 1) { return {.prompts = 4000, .seed = seed, .steps = 150, .prompts_per_step = 128, .points = 10}; }

std::vector<SimulationPoint> run(const std::string& row, const Simulation& s) {
  const Population population = make_population(s);
  return simulate(*make_policy({.row = row}, {}, population.table, s.seed), population, s);
}

TEST(Simulation, FifthsAreFifthsAndTheTailIsHeavy) {
  const Population population = make_population(small());
  std::map<std::int32_t, int> levels;
  for (const auto level : population.table.level) ++levels[level];
  EXPECT_EQ(levels, (std::map<std::int32_t, int>{{1, 800}, {2, 800}, {3, 800}, {4, 800}, {5, 800}}));
  EXPECT_EQ(std::accumulate(population.hard.begin(), population.hard.end(), 0), 800);
  int far = 0;  // beyond 5 scales: 1.5 % of Student's t with 3 degrees of freedom, 6e-7 of a normal
  for (const float d : population.difficulty) far += std::abs(double(d) - 1.0) > 5 * 1.5;
  EXPECT_GT(far, 30);
  EXPECT_LT(far, 100);
}

TEST(Simulation, TheLearnerLearnsAndCountsAddUp) {
  const Simulation s = small();
  const auto curve = run("uniform", s);
  ASSERT_EQ(curve.size(), 11U);
  EXPECT_EQ(curve.back().step, 150);
  EXPECT_EQ(curve.back().drawn, 150 * 128 * 8);
  EXPECT_EQ(curve.back().trained, curve.back().drawn);
  EXPECT_EQ(curve.back().groups, 150 * 128);
  EXPECT_GT(curve.back().pass_rate, curve.front().pass_rate + 0.1);
  EXPECT_GT(curve.back().hardest_fifth, curve.front().hardest_fifth);
  EXPECT_LT(curve.back().hardest_fifth, curve.back().pass_rate);
}

// One skill and difficulty 0: after a step the pass rate is 1 / (1 + exp(-gain)), the gain being rate times the step's signal per trained rollout.
TEST(Simulation, ASkillGainsRateTimesTheSignalPerTrainedRollout) {
  Simulation s = small();
  s.prompts = 400, s.steps = 1, s.points = 1;
  const Population population{
      std::vector<float>(400, 0.0F), std::vector<std::uint8_t>(400, 7), std::vector<std::uint8_t>(400, 1), {.level = std::vector<std::int32_t>(400, 3)}};
  for (const char* row : {"uniform", "pods"}) {  // pods trains a part of what it draws
    const auto end = simulate(*make_policy({.row = row}, {}, population.table, s.seed), population, s).back();
    EXPECT_GT(end.signal, 0.0);
    EXPECT_NEAR(end.pass_rate, 1 / (1 + std::exp(-s.rate * end.signal / double(end.trained))), 1e-12) << row;
  }
}

TEST(Simulation, IsAFunctionOfItsSettings) {
  const auto a = run("uniform_sqrt", small()), b = run("uniform_sqrt", small()), c = run("uniform_sqrt", small(2));
  EXPECT_EQ(a.back().pass_rate, b.back().pass_rate);
  EXPECT_EQ(a.back().signal, b.back().signal);
  EXPECT_NE(a.back().pass_rate, c.back().pass_rate);
}

// Neyman allocation moves rollouts from prompts that always or never succeed to those that tell. The learner is frozen, so that all policies stay in one state.
TEST(Simulation, TheSquareRootLawBeatsEqualGroupsOnSignalPerRollout) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Simulation frozen = small(seed);
    frozen.rate = 0.0;
    const auto equal = run("uniform", frozen).back(), root = run("uniform_sqrt", frozen).back();
    EXPECT_EQ(root.drawn, equal.drawn);
    EXPECT_EQ(root.pass_rate, equal.pass_rate);
    EXPECT_GT(root.signal / double(root.drawn), 1.1 * equal.signal / double(equal.drawn)) << seed;
  }
}

// What tells now is not what will tell: the square-root law is ahead at first and leaves the hardest prompts behind; both games of GDRO go after them.
TEST(Simulation, GreedForSignalNeglectsTheHardestAndGdroDoesNot) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto equal = run("uniform", small(seed)), root = run("uniform_sqrt", small(seed));
    EXPECT_GT(root[4].pass_rate, equal[4].pass_rate) << seed;
    EXPECT_LT(root.back().hardest_fifth, equal.back().hardest_fifth) << seed;
    for (const char* game : {"gdro_reweight", "gdro_resample", "gdro_both"}) {
      EXPECT_GT(run(game, small(seed)).back().hardest_fifth, 1.3 * equal.back().hardest_fifth) << game << " " << seed;
    }
  }
}

TEST(Simulation, EveryPolicyLearnsWithinItsCap) {
  Simulation s = small();
  s.steps = 40;
  const Population population = make_population(s);
  const double start = run("uniform", s).front().pass_rate;
  for (const auto& name : policy_names()) {
    const auto policy = make_policy({.row = name}, {}, population.table, s.seed);
    const StepRequest request{.step = 1, .prompts = 128, .budget = 1024, .min_rollouts = 2, .max_rollouts = 32};
    const std::int64_t cap = policy->hard_cap(request);
    const auto end = simulate(*policy, population, s).back();
    EXPECT_GT(end.pass_rate, start + 0.05) << name;
    EXPECT_LE(end.drawn, 40 * cap) << name;
    EXPECT_LE(end.trained, end.drawn) << name;
    if (policy->traits().exact_total) {
      EXPECT_EQ(end.drawn, 40 * 1024) << name;
    }
  }
}

}  // namespace
}  // namespace rollcall::scheduling
