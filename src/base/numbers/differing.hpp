// Decides whether two rewards differ. Numbers that differ only by rounding are equal. Several
// layers use this to find groups of rollouts with equal rewards.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace rollcall {

/// Two numbers count as equal if they differ by up to this share of the larger magnitude. A reward
/// is a sum of a few terms, and the order in which they are added changes it by some 1e-16 of its
/// size (.1 + .2 + .3 is not .3 + .2 + .1). Intended differences, such as one token in a length of
/// a million, are far larger than 1e-9.
inline constexpr double kEqualShare = 1e-9;
/// Smaller magnitudes are raised to this one. If terms of about 1 cancel (1 - .9 - .1), the
/// rounding error is not small compared with the remainder.
inline constexpr double kLeastMagnitude = 1e-3;

/// Whether two numbers differ by more than rounding, measured against the larger magnitude. NaN
/// differs from everything.
inline bool differ(double a, double b) {
  if (a == b) return false;
  const double apart = std::abs(a - b);
  return !(apart <= kEqualShare * std::max({std::abs(a), std::abs(b), kLeastMagnitude})) ||
         std::isinf(apart);
}

/// Whether any two of the values differ. False for fewer than two values.
inline bool differ(std::span<const double> values) {
  if (values.empty()) return false;
  if (std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); }))
    return values.size() > 1;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return differ(*least, *most);
}

}  // namespace rollcall
