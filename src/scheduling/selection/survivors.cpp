// The sorted predictions lose their ends.
#include "scheduling/selection/survivors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::scheduling {

void SurvivorsSelection::bind(ConfigSchema& s) {
  s.bind("survivors_target", &target_, "expected share of right rollouts among those that train", {0, 1});
  s.bind("survivors_share", &share_, "share of a group's rollouts that trains", {0, 1});
}

std::vector<std::uint8_t> SurvivorsSelection::survive(const std::vector<double>& q) const {
  std::vector<std::size_t> order(q.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return q[a] < q[b]; });
  double sum = std::accumulate(q.begin(), q.end(), 0.0);
  std::size_t low = 0, high = q.size();
  const auto wanted = std::size_t(std::max(1.0, std::ceil(share_ * double(q.size()) - 1e-9)));  // what only rounding lifts above an integer stays at it
  while (high - low > wanted) {
    const bool above = sum / double(high - low) > target_;
    sum -= q[above ? order[--high] : order[low++]];
  }
  std::vector<std::uint8_t> keep(q.size(), 0);
  for (std::size_t i = low; i < high; ++i) keep[order[i]] = 1;
  return keep;
}

std::vector<GroupTraining> SurvivorsSelection::select(const StepRequest&, const std::vector<GroupReport>& reports) {
  std::vector<GroupTraining> groups;
  for (const GroupReport& report : reports) {
    if (report.predicted.size() == report.rewards.size() && !report.predicted.empty()) {
      groups.push_back({.id = report.id, .weight = 1.0, .keep = survive(report.predicted)});
    }
  }
  return groups;
}

}  // namespace rollcall::scheduling
