// The metrics of an allocation under the names of verl-gdro: rollout_alloc/*.
#pragma once

#include "core/plan.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// Over the counts n_i of the groups: min, max, mean, std (population), entropy (nats, of the
/// shares n_i / total; log(groups) when equal) and total_budget; then class_share/<level>, the
/// level's share of the total, for every one of `levels` (ascending). Empty for no groups.
std::vector<std::pair<std::string, double>> allocation_metrics(
    const std::vector<GroupPlan>& groups, const std::vector<std::int32_t>& levels);

}  // namespace rollcall::scheduling
