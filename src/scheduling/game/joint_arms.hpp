// One arm for each bin, chosen together: the jointly most probable arms whose rollouts meet the
// budget exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

/// What a bin may play: arm a costs count[a] rollouts for each of its prompts.
struct BinArms {
  std::int64_t prompts = 0;
  std::vector<double> score{};  ///< [arms] log-probability, perturbed or not
};

struct JointArms {
  std::vector<std::size_t> arm{};  ///< [bins]
  std::int64_t total = 0;  ///< rollouts; the budget wherever some combination meets it, else as
                           ///< near as any does
};

/// Maximises sum_b score_b(arm_b) subject to sum_b prompts_b count(arm_b) = budget by an exact
/// dynamic program over the reachable sums: bins x arms x sums operations. All bins share `count`
/// (ascending). Ties: the smaller total, then the smaller arms of the last bins.
JointArms most_probable_arms(const std::vector<BinArms>& bins,
                             const std::vector<std::int64_t>& count, std::int64_t budget);

}  // namespace rollcall::scheduling
