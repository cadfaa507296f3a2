// Computes the increase, from one more rollout, in the chance that a group teaches.
#include "scheduling/allocator/knapsack.hpp"

#include "scheduling/allocator/greedy.hpp"

#include <cmath>

namespace rollcall::scheduling {

std::vector<std::int64_t> KnapsackAllocator::best(const std::vector<double>& success,
                                                  std::int64_t total, std::int64_t low,
                                                  std::int64_t high) {
  return greedy_counts(success, total, low, high, [](double p, double n) {
    const double q = 1.0 - p;
    return (std::pow(p, n) * q + std::pow(q, n) * p) * p * q * q;
  });
}

std::vector<std::int64_t> KnapsackAllocator::counts(const StepRequest& request,
                                                    const std::vector<GroupPlan>& groups) {
  std::vector<double> success;
  for (const GroupPlan& group : groups)
    success.push_back(knowledge_->success(request.step, group.id.prompt));
  return best(success, request.budget, request.min_rollouts, request.max_rollouts);
}

}  // namespace rollcall::scheduling
