// What the rollouts of a group came to.
#pragma once

#include "core/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

namespace rollcall::scheduling {

inline double right(const GroupReport& report) {
  return double(std::count_if(report.correct.begin(), report.correct.end(), [](std::uint8_t c) { return c != 0; }));
}

/// 0 for a group without rollouts.
inline double success(const GroupReport& report) { return report.correct.empty() ? 0.0 : right(report) / double(report.correct.size()); }

/// What a bandit is paid for a group: its mean absolute advantage, or, where nobody told, that of standardised 0/1 rewards.
inline double pay(const GroupReport& report) {
  if (!std::isnan(report.mean_abs_advantage)) return report.mean_abs_advantage;
  const double p = success(report);
  return 2.0 * std::sqrt(p * (1.0 - p));
}

/// Do its rewards differ, so that a group-relative advantage is not zero everywhere?
inline bool informative(const GroupReport& report) {
  return std::adjacent_find(report.rewards.begin(), report.rewards.end(), std::not_equal_to<>()) != report.rewards.end();
}

/// (r - mean) / std of the group (population std), all zero where the rewards do not differ.
inline std::vector<double> standardised(const std::vector<double>& rewards) {
  double mean = 0.0, square = 0.0;
  for (const double r : rewards) mean += r / double(rewards.size());
  for (const double r : rewards) square += (r - mean) * (r - mean) / double(rewards.size());
  std::vector<double> advantage(rewards.size());
  for (std::size_t i = 0; square > 0 && i < rewards.size(); ++i) advantage[i] = (rewards[i] - mean) / std::sqrt(square);
  return advantage;
}

}  // namespace rollcall::scheduling
