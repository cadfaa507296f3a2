// GRPO's derivative as the GPU check has it, written out, against the row itself.
#include "evaluate_step.hpp"

#include "benchmarks/gpu_check/on_policy.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace rollcall::objective::test
