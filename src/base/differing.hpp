// Whether rewards differ, for the layers that judge a group by it: numbers that only rounding tells
// apart are equal.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace rollcall {

/// Share of the larger magnitude up to which two numbers count as equal. A reward is a sum of a few
/// terms, and the order in which
/// they are added moves it by some 1e-16 of its size (.1 + .2 + .3 is not .3 + .2 + .1);
/// differences that are meant, such as one
/// token of a length of a million, are larger than 1e-9 by far.
inline constexpr double kEqualShare = 1e-9;
/// A magnitude below this counts as this: where terms of about 1 cancel (1 - .9 - .1), what
/// rounding leaves is no share of the rest.
inline constexpr double kLeastMagnitude = 1e-3;

/// The larger magnitude of two numbers decides how near to each other they must be to be equal. NaN
/// differs from everything.
inline bool differ(double a, double b) {
  if (a == b) return false;
  const double apart = std::abs(a - b);
  return !(apart <= kEqualShare * std::max({std::abs(a), std::abs(b), kLeastMagnitude})) ||
         std::isinf(apart);
}

/// Whether any two of the values differ; none and one do not.
inline bool differ(std::span<const double> values) {
  if (values.empty()) return false;
  if (std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); }))
    return values.size() > 1;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return differ(*least, *most);
}

}  // namespace rollcall
