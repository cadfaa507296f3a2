// How often prompts are drawn, against the chances that theory gives: chi-square for uniform,
// square-root, GDRO, UCB and Thompson.
#include "base/text/json.hpp"
#include "scheduling/sampler/bandit.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace rollcall::scheduling {
namespace {

constexpr int kSteps = 40'000;

/// The value that chi-square with so many degrees of freedom exceeds once in 1,000 (Wilson and
/// Hilferty 1931). All seeds are fixed, so no test flickers.
double rare(std::size_t freedom) {
  const double v = 2.0 / (9.0 * double(freedom));
  return double(freedom) * std::pow(1.0 - v + 3.0902 * std::sqrt(v), 3.0);
}

void expect_frequencies(const std::vector<double>& times, const std::vector<double>& chance) {
  const double all = std::accumulate(times.begin(), times.end(), 0.0);
  double chi = 0.0;
  std::size_t cells = 0;
  for (std::size_t p = 0; p < times.size(); ++p) {
    if (chance[p] == 0.0) {
      EXPECT_EQ(times[p], 0.0) << "prompt " << p;
      continue;
    }
    chi += std::pow(times[p] - all * chance[p], 2.0) / (all * chance[p]);
    ++cells;
  }
  EXPECT_LT(chi, rare(cells - 1));
  EXPECT_GT(chi, 0.0);  // as even as that is no chance
}

TEST(SamplingFrequencies, ThresholdsAreThoseOfTheTables) {
  EXPECT_NEAR(rare(8), 26.12, 0.01 * 26.12);
  EXPECT_NEAR(rare(11), 31.26, 0.01 * 31.26);
}

/// First prompt of the first step over many seeds: within one seed an epoch is a permutation, and
/// even by construction.
std::vector<double> first_draws(const SchedulerChoice& choice, const PromptTable& table) {
  std::vector<double> times(table.size());
  for (int seed = 0; seed < kSteps; ++seed) {
    const auto policy = make_scheduler(choice, {}, table, std::uint64_t(seed));
    ++times[policy
                ->begin_step(
                    {.step = 1, .prompts = 1, .budget = 4, .min_rollouts = 1, .max_rollouts = 8})
                .groups.front()
                .id.prompt.value];
  }
  return times;
}

TEST(SamplingFrequencies, OfUniformAndSquareRootAreEqual) {
  for (const char* row : {"uniform", "uniform_sqrt", "gdro_sqrt"}) {
    SCOPED_TRACE(row);
    expect_frequencies(first_draws({row}, prompt_table(12)), std::vector<double>(12, 1.0 / 12));
  }
}

TEST(SamplingFrequencies, OfGdroFollowItsWeights) {
  // Bins 0, 3 and 5 hold 2, 4 and 6 prompts; with no results yet all weights are equal, so a bin
  // has a third and its prompts share that.
  PromptTable table{.level = std::vector<std::int32_t>(12, 2),
                    .prior = {0, 0, 0.55F, 0.55F, 0.55F, 0.55F, 1, 1, 1, 1, 1, 1}};
  std::vector<double> times(12), chance(12);
  const auto policy = make_scheduler({"gdro_resample"}, {}, table, 5);
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    ++times[policy
                ->begin_step(
                    {.step = step, .prompts = 1, .budget = 4, .min_rollouts = 1, .max_rollouts = 8})
                .groups.front()
                .id.prompt.value];
  }
  for (std::size_t p = 0; p < 12; ++p) chance[p] = 1.0 / 3 / (p < 2 ? 2 : p < 6 ? 4 : 6);
  expect_frequencies(times, chance);
}

std::vector<double> bandit_draws(BanditSampler::Rule rule, const nlohmann::json& arms) {
  // Bins 0 and 5 of 6 hold 3 and 9 prompts.
  Knowledge knowledge(
      {.level = std::vector<std::int32_t>(12, 2), .prior = {0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
      1);
  BanditSampler sampler(knowledge, rule);
  knowledge.start();
  sampler.load({{"arms", arms}});
  std::vector<double> times(12);
  for (std::uint64_t step = 0; step < kSteps; ++step)
    ++times[sampler.choose({.step = step, .prompts = 1}, {}).front().prompt.value];
  return times;
}

TEST(SamplingFrequencies, OfUcbAreEqualWithinTheBinOfTheLargestBound) {
  // {value, won, tried}: means 0.2 and 0.8 over ten tries each, so the bound of bin 5 is the
  // larger.
  const nlohmann::json none = {0.0, 0.0, 0.0}, low = {0.0, 2.0, 10.0}, high = {0.0, 8.0, 10.0};
  std::vector<double> chance(12, 1.0 / 9);
  std::fill(chance.begin(), chance.begin() + 3, 0.0);
  expect_frequencies(bandit_draws(BanditSampler::Rule::ucb, {low, none, none, none, none, high}),
                     chance);
}

TEST(SamplingFrequencies, OfThompsonAreTheChancesOfTheLargestDraw) {
  // Beta(2, 1) against Beta(1, 1): P(X > U) = E X = 2/3 for bin 0, which has three prompts.
  const nlohmann::json none = {0.0, 0.0, 0.0}, won = {0.0, 1.0, 1.0};
  std::vector<double> chance(12, 1.0 / 3 / 9);
  std::fill(chance.begin(), chance.begin() + 3, 2.0 / 3 / 3);
  expect_frequencies(
      bandit_draws(BanditSampler::Rule::thompson, {won, none, none, none, none, none}), chance);
}

}  // namespace
}  // namespace rollcall::scheduling
