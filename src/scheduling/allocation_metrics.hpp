// The metrics of an allocation, under the names that verl-gdro uses: rollout_alloc/*.
#pragma once

#include "core/plan.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// Statistics of the rollout counts n_i of the groups without help: min, max, mean, std
/// (population), entropy of the shares n_i / total (in nats; log(groups) when the counts are
/// equal), and class_share/<level>, the level's share of their total, for each of `levels`
/// (ascending). total_budget also counts the rollouts with help. Without groups the result is
/// empty.
std::vector<std::pair<std::string, double>> allocation_metrics(
    const std::vector<GroupPlan>& groups, const std::vector<std::int32_t>& levels);

}  // namespace rollcall::scheduling
