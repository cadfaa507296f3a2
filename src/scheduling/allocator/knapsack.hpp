// The allocator `knapsack` (Knapsack-RL): the counts with the largest sum of values at the exact
// budget.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// Value of n rollouts of a prompt with success rate p: (1 - p^n - (1 - p)^n) * p (1 - p)^2, the
/// chance that the group teaches times what it can teach (arXiv:2509.25849). One more rollout adds
/// p^n (1 - p) + (1 - p)^n p times the factor. This gain falls with every rollout, so the greedy
/// choice is optimal and no table is needed. p = Knowledge::success(), which is never exactly 0 or
/// 1; the paper takes the rate of the last epoch, with special cases for 0 and 1.
class KnapsackAllocator final : public Allocator {
 public:
  explicit KnapsackAllocator(Knowledge& knowledge) : knowledge_(&knowledge) {
    knowledge.use_success();
  }
  std::vector<std::int64_t> counts(const StepRequest& request,
                                   const std::vector<GroupPlan>& groups) override;
  /// Rollout counts of prompts whose success rates are known. Throws ConfigError if no counts from
  /// low to high sum to total.
  static std::vector<std::int64_t> best(const std::vector<double>& success, std::int64_t total,
                                        std::int64_t low, std::int64_t high);

 private:
  const Knowledge* knowledge_;
};

}  // namespace rollcall::scheduling
