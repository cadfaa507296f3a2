// Moments, entropy and shares of one step's rollout counts.
#include "scheduling/allocation_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rollcall::scheduling {

std::vector<std::pair<std::string, double>> allocation_metrics(
    const std::vector<GroupPlan>& groups, const std::vector<std::int32_t>& levels) {
  double total = 0.0, with_help = 0.0, size = 0.0, most = 0.0;
  double least = std::numeric_limits<double>::infinity();
  std::vector<double> of_level(levels.size(), 0.0);
  for (const auto& g : groups) {
    if (!is_plain(g.from)) {
      with_help += g.count;
      continue;
    }
    size += 1.0;
    total += g.count;
    least = std::min<double>(least, g.count);
    most = std::max<double>(most, g.count);
    of_level[std::size_t(std::lower_bound(levels.begin(), levels.end(), g.level) -
                         levels.begin())] += g.count;
  }
  if (size == 0.0) return {};
  const double mean = total / size;
  double square = 0.0, entropy = 0.0;
  for (const auto& g : groups) {
    if (!is_plain(g.from)) continue;
    square += (g.count - mean) * (g.count - mean);
    if (g.count > 0) entropy -= g.count / total * std::log(g.count / total);
  }
  std::vector<std::pair<std::string, double>> metrics = {
      {"rollout_alloc/min", least},       {"rollout_alloc/max", most},
      {"rollout_alloc/mean", mean},       {"rollout_alloc/std", std::sqrt(square / size)},
      {"rollout_alloc/entropy", entropy}, {"rollout_alloc/total_budget", total + with_help}};
  for (std::size_t l = 0; l < levels.size(); ++l)
    metrics.emplace_back(fmt::format("rollout_alloc/class_share/{}", levels[l]),
                         total > 0 ? of_level[l] / total : 0.0);
  return metrics;
}

}  // namespace rollcall::scheduling
