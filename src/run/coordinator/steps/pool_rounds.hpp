// Pools: a round is sampled twice. The first time it has more rollouts than it needs, and the
// second time only those that are worth training on.
// Source: Sol-RL (explore in cheap arithmetic, train on the best and the worst). What differs: the
//   second draw repeats the random numbers of the first, so that a rollout is the same where the
//   arithmetic gives the same tokens.
#pragma once

#include "core/plan.hpp"
#include "run/messages/messages.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace rollcall::run {

/// Draws of a prompt that are pools are numbered from here, above those of any step.
inline constexpr std::uint32_t kFirstPool = std::uint32_t{1} << 11;

/// The pools of a step. It remembers how many samples each group has had.
class PoolRounds {
 public:
  /// `factor`: rollouts of a pool for each one that is drawn again, at least 1 (second_pass.factor).
  explicit PoolRounds(double factor) : factor_(factor) {}

  /// The pools of a round, in the order of its groups: the same prompts with further samples. Throws
  /// ConfigError where a prompt is drawn kFirstPool times or more in the step.
  std::vector<GroupPlan> pools(const std::vector<GroupPlan>& groups);
  /// Gives each group of n rollouts the samples of its pool that are drawn again: the ceil(n / 2)
  /// with the largest reward, and of the others the floor(n / 2) with the smallest; of equal ones
  /// those with the lower number. Samples without a verdict come last. `specimens`: merged, with the
  /// rewards of all samples that have a verdict.
  void choose(std::vector<GroupPlan>& groups, const std::vector<GroupPlan>& pools,
              const std::vector<Specimen>& specimens) const;

 private:
  double factor_;
  std::map<GroupId, std::uint32_t> next_{};  ///< the next sample of each pool
};

}  // namespace rollcall::run
