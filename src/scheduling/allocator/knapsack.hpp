// The allocator `knapsack` (Knapsack-RL): the counts of largest summed value under the exact
// budget.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// Value of n rollouts of a prompt of success rate p: (1 - p^n - (1 - p)^n) * p (1 - p)^2, the
/// chance that the group teaches times what it can teach (arXiv:2509.25849). One more rollout adds
/// p^n (1 - p) + (1 - p)^n p times the factor, less with every rollout, so that giving each rollout
/// to where it adds most is optimal: no table is needed. p = Knowledge::success(), never exactly 0
/// or 1, in place of the paper's rate of the last epoch with its special cases.
class KnapsackAllocator final : public Allocator {
 public:
  explicit KnapsackAllocator(Knowledge& knowledge) : knowledge_(&knowledge) {
    knowledge.use_success();
  }
  std::vector<std::int64_t> counts(const StepRequest& request,
                                   const std::vector<GroupPlan>& groups) override;
  /// For known rates; throws as apportion() does.
  static std::vector<std::int64_t> best(const std::vector<double>& success, std::int64_t total,
                                        std::int64_t low, std::int64_t high);

 private:
  const Knowledge* knowledge_;
};

}  // namespace rollcall::scheduling
