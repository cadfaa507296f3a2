// The allocator `failure_utility` (V_0): each rollout goes to the prompt where it adds most to the
// expected number of failures in a group that has a success.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// Utility of n rollouts of a prompt with success rate p: U = n (1 - p) (1 - (1 - p)^(n - 1)). Each
/// rollout goes to the prompt with the largest U(n + 1) - U(n) (arXiv:2602.03584, eq. 9 and 10, as
/// a third party reads them). p = Knowledge::success(). The gain grows with the first rollouts, so
/// this is the paper's greedy rule and not always the optimum.
class FailureUtilityAllocator final : public Allocator {
 public:
  explicit FailureUtilityAllocator(Knowledge& knowledge) : knowledge_(&knowledge) {
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
