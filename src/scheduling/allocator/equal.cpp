// Equal weights, made whole by apportion().
#include "scheduling/allocator/equal.hpp"

#include "base/error.hpp"

#include <nlohmann/json.hpp>

namespace rollcall::scheduling {

std::vector<std::int64_t> EqualAllocator::counts(const StepRequest& request, const std::vector<GroupPlan>& groups) const {
  return apportion(std::vector<double>(groups.size(), 1.0), request.budget, request.min_rollouts, request.max_rollouts);
}

nlohmann::json EqualAllocator::save() const { return nlohmann::json::object(); }

void EqualAllocator::load(const nlohmann::json& state) {
  require<StorageError>(state.is_object() && state.empty(), "the saved allocator state is not empty", "the allocator `equal` keeps none",
                        "resume with the scheduler.policy the run was started with");
}

}  // namespace rollcall::scheduling
