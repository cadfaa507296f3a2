// The policy in the arithmetic of pools (second_pass.numerics).
#pragma once

#include "core/plan.hpp"
#include "model/engine/policy.hpp"

#include <optional>

namespace rollcall::run {

struct RunContext;

class PoolPolicy {
 public:
  /// The policy that samples the plan: the run's, or for a plan of pools the same weights packed for
  /// the kernels of second_pass.numerics, once for each version. The reference is valid until the
  /// next call.
  const model::PolicyModel& of(const RunContext& context, const StepPlan& plan);

 private:
  std::optional<model::PolicyModel> packed_;
};

}  // namespace rollcall::run
