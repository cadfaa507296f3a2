// Where every ratio is 1: GRPO's derivative as the GPU check has it, written out, against the row
// itself, and rows and pieces that change nothing there.
#include "base/errors/error.hpp"
#include "evaluate_step.hpp"

#include "benchmarks/gpu_check/on_policy.hpp"
#include "objective/reach.hpp"
#include "objective/recipes.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace rollcall::objective::test {
namespace {

/// Groups of equal size, every rollout the current policy's; rewards of some groups are equal, some
/// answers have no tokens.
PlainStep on_policy_step(std::mt19937& engine, std::size_t groups, std::size_t size) {
  std::uniform_int_distribution<int> tokens(0, 5), reward(0, 2);
  std::uniform_real_distribution<double> logprob(-6.0, -0.1);
  PlainStep step;
  for (std::size_t i = 0; i < groups * size; ++i) {
    PlainRollout rollout;
    rollout.group = std::int64_t(i / size),
    rollout.reward = i / size == 1 ? 1.0 : 0.5 * reward(engine), rollout.key = std::int64_t(i);
    for (int t = tokens(engine); t > 0; --t) rollout.now.push_back(logprob(engine));
    rollout.old = rollout.rollout = rollout.reference = rollout.now;
    rollout.entropy.assign(rollout.now.size(), 1.0), rollout.token.assign(rollout.now.size(), 0);
    step.rollouts.push_back(rollout);
  }
  return step;
}

TEST(OnPolicyGrpo, WrittenOutIsTheRow) {
  std::mt19937 engine(5);
  const Objective grpo("grpo");
  for (const auto& [groups, size] :
       std::vector<std::pair<std::size_t, std::size_t>>{{3, 4}, {2, 8}, {4, 2}, {3, 1}}) {
    const PlainStep step = on_policy_step(engine, groups, size);
    std::vector<double> reward;
    std::vector<std::int64_t> length;
    for (const auto& rollout : step.rollouts)
      reward.push_back(rollout.reward), length.push_back(std::int64_t(rollout.length()));
    const auto by_rollout = gpu_check::on_policy_derivative(reward, length, size);
    Column written;
    for (std::size_t i = 0; i < by_rollout.size(); ++i)
      written.insert(written.end(), std::size_t(length[i]), by_rollout[i]);
    const Column row = evaluate(grpo, step).derivative;
    ASSERT_EQ(written.size(), row.size());
    for (std::size_t t = 0; t < row.size(); ++t)
      EXPECT_NEAR(written[t], row[t], 1e-6 * std::abs(row[t]) + 1e-12)
          << groups << ' ' << size << ' ' << t;
  }
}

void expect_same_derivative(const Objective& one, const Objective& other, const std::string& who) {
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    const PlainStep step = random_step({5, 4, 3}, seed, 0.0);
    const Result a = evaluate(one, step), b = evaluate(other, step);
    for (std::size_t t = 0; t < a.derivative.size(); ++t) {
      EXPECT_NEAR(a.derivative[t], b.derivative[t], 1e-9 * (1 + std::abs(b.derivative[t]))) << who;
      EXPECT_NEAR(a.entropy_derivative[t], b.entropy_derivative[t], 1e-12) << who;
    }
  }
}

TEST(OnPolicy, ARowHasTheDerivativeOfTheRowThatItActsAs) {
  std::map<std::string, std::string> acts_as;
  for (const auto& recipe : recipe_names()) {
    const Objective objective(recipe);
    const std::string other = on_policy(objective).acts_as;
    if (other.empty()) continue;
    acts_as[recipe] = other;
    expect_same_derivative(objective, Objective(other), recipe + " as " + other);
  }
  for (const auto& [row, other] :
       std::map<std::string, std::string>{{"ppo_dual_clip", "grpo"},
                                          {"gspo", "grpo"},
                                          {"gmpo", "grpo"},
                                          {"sapo", "grpo"},
                                          {"dcpo", "grpo"},
                                          {"mis", "grpo"},
                                          {"opsm", "grpo"},
                                          {"bypass_pg_is", "grpo"},
                                          {"cispo", "dapo"},
                                          {"aspo", "dapo"},
                                          {"minpro", "dapo"},
                                          {"vespo", "dapo"},
                                          {"dppo_tv", "dr_grpo"},
                                          {"ppo_kl_penalty", "ppo"},
                                          {"opmd", "rec-offpolicy-reinforce"}})
    EXPECT_EQ(acts_as[row], other) << row;
  for (const auto* row : {"grpo", "dapo", "dr_grpo", "chord", "dypo", "kimi15", "grpo_kl", "pacs"})
    EXPECT_FALSE(acts_as.contains(row)) << row;
}

/// A piece that is called idle is: without it the derivative is the same.
TEST(OnPolicy, IdlePiecesChangeNoDerivative) {
  int idle = 0;
  const Objective grpo("grpo");
  for (const auto& card : piece_cards()) {
    if (card.family != "weight" && card.family != "regularizer") continue;
    std::unique_ptr<const Objective> with;
    try {
      with = std::make_unique<const Objective>("grpo", Settings{{card.family, card.name}});
    } catch (const ConfigError&) {
      continue;  // half of a pair
    }
    const auto found = on_policy(*with).idle;
    if (std::find(found.begin(), found.end(), card.family + " " + card.name) == found.end())
      continue;
    expect_same_derivative(*with, grpo, card.name), ++idle;
  }
  EXPECT_EQ(idle, 9);  // weights tis, importance, reject, opsm, ess_lr; regularizers kl_hinge,
                       // policy_drift, kl_cov, lazy_likelihood
  const Objective anchored("grpo", {{"regularizer", "kl"}}, {{"kl_anchor", "old"}});
  EXPECT_EQ(on_policy(anchored).idle, std::vector<std::string>{"regularizer kl"});
  expect_same_derivative(anchored, grpo, "kl");
  EXPECT_TRUE(on_policy(Objective("grpo_kl")).idle.empty());
}

}  // namespace
}  // namespace rollcall::objective::test
