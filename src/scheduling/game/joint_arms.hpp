// Chooses the arms of all bins jointly: the most probable combination that meets the budget
// exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

/// The arms of a bin: arm a costs count[a] rollouts for each of its prompts.
struct BinArms {
  std::int64_t prompts = 0;
  std::vector<double> score{};  ///< [arms] log-probability, with or without a perturbation
};

struct JointArms {
  std::vector<std::size_t> arm{};  ///< [bins] the arm of each bin, as an index into `count`
  std::int64_t total = 0;  ///< rollouts; equal to the budget if some combination meets it, else
                           ///< the nearest total
};

/// Maximises sum_b score_b(arm_b) subject to sum_b prompts_b count(arm_b) = budget by an exact
/// dynamic program over the reachable sums: bins x arms x sums operations. All bins share `count`
/// (ascending). In a tie it takes the smaller total, then the smaller arms of the last bins.
JointArms most_probable_arms(const std::vector<BinArms>& bins,
                             const std::vector<std::int64_t>& count, std::int64_t budget);

}  // namespace rollcall::scheduling
