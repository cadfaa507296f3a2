// Applies the max-variance subset to each group.
#include "scheduling/selection/max_variance.hpp"

#include "scheduling/selection/spread.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

std::vector<GroupTraining> MaxVarianceSelection::select(const StepRequest&,
                                                        const std::vector<GroupReport>& reports) {
  std::vector<GroupTraining> groups;
  for (const GroupReport& report : reports) {
    const auto keep =
        std::size_t(std::max<long long>(2, std::llround(share_ * double(report.rewards.size()))));
    if (keep < report.rewards.size())
      groups.push_back(
          {.id = report.id, .weight = 1.0, .keep = widest_subset(report.rewards, keep)});
  }
  return groups;
}

}  // namespace rollcall::scheduling
