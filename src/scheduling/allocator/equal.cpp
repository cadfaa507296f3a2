// Equal weights, which apportion() turns into counts.
#include "scheduling/allocator/equal.hpp"

namespace rollcall::scheduling {

std::vector<std::int64_t> EqualAllocator::counts(const StepRequest& request,
                                                 const std::vector<GroupPlan>& groups) {
  return apportion(std::vector<double>(groups.size(), 1.0), request.budget, request.min_rollouts,
                   request.max_rollouts);
}

}  // namespace rollcall::scheduling
