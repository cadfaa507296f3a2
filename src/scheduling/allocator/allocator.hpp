// An allocator decides how many rollouts each chosen prompt gets. Pure: its counts depend on its state value and the chosen prompts alone.
#pragma once

#include "base/config.hpp"
#include "core/plan.hpp"
#include "scheduling/policy.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual void bind(ConfigSchema& knobs) = 0;  ///< its knobs: key, variable, meaning, range
  /// [groups] counts that sum to request.budget, each within the request's bounds; ends in apportion(), which makes the total exact.
  virtual std::vector<std::int64_t> counts(const StepRequest& request, const std::vector<GroupPlan>& groups) const = 0;
  virtual void learn(const std::vector<GroupReport>& reports) = 0;  ///< end of a step, ascending GroupId
  virtual nlohmann::json save() const = 0;
  virtual void load(const nlohmann::json& state) = 0;  ///< throws StorageError or a json exception when it is not such a state
};

}  // namespace rollcall::scheduling
