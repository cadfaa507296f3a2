// Computes the gain in utility from one more rollout.
#include "scheduling/allocator/failure_utility.hpp"

#include "scheduling/allocator/greedy.hpp"

#include <cmath>

namespace rollcall::scheduling {

std::vector<std::int64_t> FailureUtilityAllocator::best(const std::vector<double>& success,
                                                        std::int64_t total, std::int64_t low,
                                                        std::int64_t high) {
  return greedy_counts(success, total, low, high, [](double p, double n) {
    const double q = 1.0 - p;
    return q * (1.0 - std::pow(q, n - 1.0) * ((n + 1.0) * q - n));
  });
}

std::vector<std::int64_t> FailureUtilityAllocator::counts(const StepRequest& request,
                                                          const std::vector<GroupPlan>& groups) {
  std::vector<double> success;
  for (const GroupPlan& group : groups)
    success.push_back(knowledge_->success(request.step, group.id.prompt));
  return best(success, request.budget, request.min_rollouts, request.max_rollouts);
}

}  // namespace rollcall::scheduling
