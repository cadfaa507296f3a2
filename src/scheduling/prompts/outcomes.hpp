// Statistics of the outcomes of one group.
#pragma once

#include "base/numbers/differing.hpp"
#include "core/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

inline double right(const GroupReport& report) {
  return double(std::count_if(report.correct.begin(), report.correct.end(),
                              [](std::uint8_t c) { return c != 0; }));
}

/// Share of correct rollouts; 0 for a group without rollouts.
inline double success(const GroupReport& report) {
  return report.correct.empty() ? 0.0 : right(report) / double(report.correct.size());
}

/// Largest absolute value that a scheduler may learn from. Sums of the squares of larger numbers
/// could exceed the range of a double.
inline constexpr double kLargestHeard = 1e100;

/// The pay that a bandit gets for a group. It is the group's mean absolute advantage or, if that
/// was not measured, 2 sqrt(p (1 - p)), its value for standardised 0/1 rewards.
inline double pay(const GroupReport& report) {
  if (!std::isnan(report.mean_abs_advantage))
    return std::min(report.mean_abs_advantage, kLargestHeard);
  const double p = success(report);
  return 2.0 * std::sqrt(p * (1.0 - p));
}

/// Whether the group's rewards differ, so that a group-relative advantage is not zero everywhere.
inline bool informative(const GroupReport& report) { return differ(report.rewards); }

/// [rollouts] (r - mean) / std of the group (population std). It is zero for a reward that differs
/// from the mean by rounding only, so it is all zero if the rewards do not differ.
inline std::vector<double> standardised(const std::vector<double>& rewards) {
  if (!differ(rewards)) return std::vector<double>(rewards.size());
  double mean = 0.0, square = 0.0;
  for (const double r : rewards) mean += r / double(rewards.size());
  double largest = kLeastMagnitude;
  for (const double r : rewards)
    square += (r - mean) * (r - mean) / double(rewards.size()),
        largest = std::max(largest, std::abs(r));
  std::vector<double> advantage(rewards.size());
  for (std::size_t i = 0; square > 0 && i < rewards.size(); ++i) {
    if (std::abs(rewards[i] - mean) > kEqualShare * largest)
      advantage[i] = (rewards[i] - mean) / std::sqrt(square);
  }
  return advantage;
}

}  // namespace rollcall::scheduling
