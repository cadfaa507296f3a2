// Square roots of the estimated reward variances, which apportion() turns into counts.
#include "scheduling/allocator/square_root.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

void SquareRootAllocator::bind(ConfigSchema& s) {
  s.bind("variance_floor", &variance_floor_,
         "least reward variance assumed, so that no level starves", {1e-12, 0.25});
}

std::vector<std::int64_t> SquareRootAllocator::counts(const StepRequest& request,
                                                      const std::vector<GroupPlan>& groups) {
  std::vector<double> weight(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double p = knowledge_->success(request.step, groups[i].id.prompt);
    weight[i] = std::sqrt(std::max(p * (1.0 - p), variance_floor_));
  }
  return apportion(weight, request.budget, request.min_rollouts, request.max_rollouts);
}

}  // namespace rollcall::scheduling
