// What SPAE promises of potentials and of advantages made with them; and that it learns from
// potentials, where shuffled ones teach nothing.
#include "objective/advantage/step_potential.hpp"

#include "base/numbers/random.hpp"
#include "works_when/small_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace rollcall::objective::test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

/// Steps of two tokens with what was found behind each, and then two tokens of an answer.
void reason(PlainRollout& r, const std::vector<std::pair<double, double>>& found) {
  for (std::size_t step = 0; step <= found.size(); ++step) {
    const bool open = step == found.size();
    for (int token = 0; token < 2; ++token) {
      r.reasoning_step.push_back(open ? -1.0 : double(step));
      r.probe_accuracy.push_back(open ? 0.0 : found[step].first),
          r.probe_confidence.push_back(open ? 0.0 : found[step].second);
    }
  }
}

Column step_advantages(const PlainStep& plain) {  // of each step's first token, and the answer's,
                                                  // in the first rollout
  const Column all = values(StepPotential()(Step(plain.columns())));
  Column one;
  for (std::size_t t = 0; t < plain.rollouts[0].length(); t += 2) {
    EXPECT_EQ(all[t], all[t + 1]);
    one.push_back(all[t]);
  }
  return one;
}

TEST(WorksWhen, spae_potentials_are_those_of_the_paper) {
  const at::Tensor accuracy = at::tensor({1.0, 0.0, 0.0, 0.5}, at::kDouble),
                   confidence = at::tensor({1.0, 1.0, 0.0, 0.5}, at::kDouble);
  EXPECT_THAT(values(StepPotential::potential(accuracy, confidence)),
              ElementsAre(1.0, -1.0, 0.0, 0.125));
}

/// A sum that is solved by the third of six steps.
const std::vector<std::pair<double, double>> kSolvedByTheThird = {
    {0.1, 0.3}, {0.2, 0.5}, {1.0, 1.0}, {1.0, 1.0}, {1.0, 1.0}, {1.0, 1.0}};

TEST(WorksWhen, spae_pays_the_step_that_solves_and_less_for_checking) {
  PlainStep plain = answers({{0, 1.0, 14}, {0, 0.0, 14}});
  for (auto& r : plain.rollouts) reason(r, kSolvedByTheThird);
  const double a = 0.5 / (std::sqrt(0.5) + 1e-6);
  const auto about = [](double x) { return DoubleNear(x, 1e-12); };
  // Phi = 0.045 + 0.05 - 0.3 = -0.205, 0.15 + 0.1 - 0.5 = -0.25, then 1.
  EXPECT_THAT(step_advantages(plain),
              ElementsAre(about(a), about(a - 0.0225), about(a + 0.625), about(a / 2), about(a / 2),
                          about(a / 2), about(a)));
  // solved, and then answered otherwise: checking is not let off
  std::swap(plain.rollouts[0].reward, plain.rollouts[1].reward);
  EXPECT_THAT(step_advantages(plain), ElementsAre(about(-a), about(-a - 0.0225), about(-a + 0.625),
                                                  about(-a), about(-a), about(-a), about(-a)));
}

TEST(WorksWhen, spae_without_steps_is_its_groups_advantage) {
  PlainStep plain = answers({{0, 1.0, 3}, {0, 0.0, 2}});
  for (auto& r : plain.rollouts) r.reasoning_step.assign(r.length(), -1.0);
  EXPECT_TRUE(
      near(values(StepPotential()(Step(plain.columns()))), plain_advantage("group_norm", plain)));
}

/// A policy of one number: how often its second step is the one that solves. Rewards are noise;
/// only potentials tell the two kinds of steps apart.
double share_that_solves(bool shuffled) {
  const Objective objective("spae-step-potential");
  double theta = 0.0;
  for (std::uint64_t update = 0; update < 40; ++update) {
    const RandomStream dice(5, RandomPurpose::test, update);
    std::uint64_t draws = 0;
    const double p = 1 / (1 + std::exp(-theta));
    PlainStep plain;
    Column slope;  // of each token's log-prob in theta
    std::vector<bool> solves;
    for (std::size_t i = 0; i < 64; ++i) {
      solves.push_back(dice.uniform(draws++) < p);
      plain.rollouts.push_back(
          answers({{std::int64_t(i / 8), double(dice.below(draws++, 2)), 2}}).rollouts[0]);
      const double logprob = std::log(solves[i] ? p : 1 - p);
      auto& r = plain.rollouts[i];
      for (auto* column : {&r.now, &r.old, &r.rollout}) (*column)[1] = logprob;
      slope.insert(slope.end(), {0.0, solves[i] ? 1 - p : -p});
    }
    for (std::size_t i = 0; i < 64; ++i) {
      const bool seen = shuffled ? dice.below(draws++, 2) == 1 : solves[i];
      auto& r = plain.rollouts[i];
      r.reasoning_step = {0, 1}, r.probe_accuracy = {0, seen ? 1.0 : 0.0},
      r.probe_confidence = {1, 1};
    }
    const Column derivative = evaluate(objective, plain).derivative;
    for (std::size_t t = 0; t < derivative.size(); ++t) theta -= 0.5 * derivative[t] * slope[t];
  }
  return 1 / (1 + std::exp(-theta));
}

TEST(WorksWhen, spae_learns_from_potentials_and_not_from_shuffled_ones) {
  EXPECT_GT(share_that_solves(false), 0.8);
  EXPECT_NEAR(share_that_solves(true), 0.5, 0.1);
}

}  // namespace
}  // namespace rollcall::objective::test
