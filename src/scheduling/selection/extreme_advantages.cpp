// One column of advantages over all groups, cut by variance.
#include "scheduling/selection/extreme_advantages.hpp"

#include "scheduling/outcomes.hpp"
#include "scheduling/selection/spread.hpp"

namespace rollcall::scheduling {

void ExtremeAdvantagesSelection::bind(ConfigSchema& s) {
  s.bind("share_start", &start_, "share of the rollouts that train at the start", {0, 1});
  s.bind("share_final", &final_, "share at the end", {0, 1});
}

std::vector<GroupTraining> ExtremeAdvantagesSelection::select(const StepRequest& request, const std::vector<GroupReport>& reports) {
  std::vector<double> advantage;  // of the rollouts that have one
  std::vector<GroupTraining> groups;
  std::vector<std::pair<std::size_t, std::size_t>> where;  // group, rollout
  double drawn = 0;
  for (const GroupReport& report : reports) {
    const auto own = standardised(report.rewards);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i] == 0) continue;
      advantage.push_back(own[i]);
      where.emplace_back(groups.size(), i);
    }
    drawn += double(own.size());
    groups.push_back({.id = report.id, .weight = 1.0, .keep = std::vector<std::uint8_t>(own.size(), 0)});
  }
  if (advantage.empty()) return {};
  const double share = (1.0 - request.progress) * start_ + request.progress * final_;
  const auto kept = widest_subset(advantage, std::size_t(std::max<long long>(1, std::llround(share * drawn))));
  for (std::size_t i = 0; i < kept.size(); ++i) groups[where[i].first].keep[where[i].second] = kept[i];
  return groups;
}

}  // namespace rollcall::scheduling
