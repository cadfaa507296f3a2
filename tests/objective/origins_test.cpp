// Metrics tell apart what the step's policy sampled, what is replayed, and what an expert wrote.
#include "objective/columns.hpp"
#include "objective/objective.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace rollcall::objective {
namespace {

at::Tensor reals(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }

/// Two groups of two rollouts, one token each. Old log-probs -1, -1, -2, -3; rewards 0, 1, 1, 0.
StepColumns four_rollouts() {
  StepColumns c;
  c.reward = reals({0, 1, 1, 0}), c.group = at::tensor({0, 0, 1, 1}, at::kLong),
  c.prompt_level = at::zeros({4}, at::kLong);
  c.offsets = at::arange(5, at::kLong), c.truncated = at::zeros({4}, at::kBool);
  c.old_logprob = c.rollout_logprob = reals({-1, -1, -2, -3});
  c.max_new_tokens = 4;
  return c;
}

/// Under a policy with log-prob -1 everywhere: the ratios are 1, 1, e and e^2. Every rollout's
/// group is a micro-batch.
std::map<std::string, double> metrics_of(const std::string& recipe, const StepColumns& columns) {
  const Objective objective(recipe);
  const auto prepared = objective.prepare(columns);
  std::vector<MicroBatchLoss> micro_batches;
  for (const std::vector<std::int64_t>& rollouts : {std::vector<std::int64_t>{0, 1}, {2, 3}}) {
    micro_batches.push_back(
        objective.evaluate(*prepared, {rollouts, reals({-1, -1}), reals({0.5, 0.5})}));
  }
  return merge(*prepared, micro_batches);
}

TEST(Origins, WithoutReplayAllTokensAreTheActors) {
  const auto metrics = metrics_of("grpo", four_rollouts());
  EXPECT_DOUBLE_EQ(metrics.at("actor/ratio_max"), std::exp(2.0));
  EXPECT_DOUBLE_EQ(metrics.at("actor/ppo_kl"), -0.75);  // (0 + 0 - 1 - 2) / 4
  EXPECT_EQ(metrics.count("replay/ratio_max"), 0U);
}

TEST(Origins, ReplayedTokensHaveNamesOfTheirOwn) {
  StepColumns columns = four_rollouts();
  columns.replayed = at::tensor({0, 0, 1, 1}, at::kLong).to(at::kBool);
  columns.reward = reals({0, 1, 5, 0});
  const auto metrics = metrics_of("grpo", columns);
  EXPECT_EQ(metrics.at("actor/ratio_min"), 1.0);
  EXPECT_EQ(metrics.at("actor/ratio_max"), 1.0);
  EXPECT_EQ(metrics.at("actor/ratio_mean"), 1.0);
  EXPECT_EQ(metrics.at("actor/ppo_kl"), 0.0);
  EXPECT_DOUBLE_EQ(metrics.at("replay/ratio_min"), std::exp(1.0));
  EXPECT_DOUBLE_EQ(metrics.at("replay/ratio_max"), std::exp(2.0));
  EXPECT_DOUBLE_EQ(metrics.at("replay/ratio_mean"), (std::exp(1.0) + std::exp(2.0)) / 2);
  EXPECT_DOUBLE_EQ(metrics.at("replay/ppo_kl"), -1.5);
  EXPECT_EQ(metrics.at("critic/score/mean"), 0.5);  // of the two fresh rollouts
  EXPECT_EQ(metrics.at("critic/score/max"), 1.0);
}

// A 0 here would enter the step's mean over its updates, and a mean ratio of 0.5 reads as far off
// policy.
TEST(Origins, AnUpdateThatKeepsNothingHasNoMeans) {
  StepColumns columns = four_rollouts();
  columns.reward = columns.named[column::correct] = reals({0, 0, 0, 0});
  const auto metrics = metrics_of("raft", columns);  // keeps the best right answers, of which there
                                                     // are none
  for (const char* name :
       {"actor/ratio_mean", "actor/ppo_kl", "actor/pg_clipfrac", "actor/entropy"})
    EXPECT_FALSE(metrics.contains(name)) << name;
  EXPECT_EQ(metrics.at("actor/pg_loss"), 0.0);
  columns.replayed = at::tensor({0, 0, 1, 1}, at::kLong).to(at::kBool);
  columns.reward = columns.named[column::correct] = reals({0, 0, 1, 0});
  const auto replayed = metrics_of("raft", columns);
  EXPECT_FALSE(replayed.contains("actor/ratio_mean"));
  EXPECT_DOUBLE_EQ(replayed.at("replay/ratio_mean"), std::exp(1.0));
}

TEST(Origins, AnExpertsTokensAreNobodysRatio) {
  StepColumns columns = four_rollouts();
  columns.named[column::expert] = reals({0, 0, 0, 1});
  const auto metrics = metrics_of("chord", columns);
  EXPECT_DOUBLE_EQ(metrics.at("actor/ratio_max"), std::exp(1.0));
  EXPECT_DOUBLE_EQ(metrics.at("actor/ratio_mean"), (2 + std::exp(1.0)) / 3);
  EXPECT_EQ(metrics.count("replay/ratio_max"), 0U);
}

}  // namespace
}  // namespace rollcall::objective
