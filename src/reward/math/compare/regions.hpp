// Intervals, their unions, and inequalities in one variable, as stretches of the line.
#pragma once

#include "reward/math/values/values.hpp"

#include <optional>
#include <string>
#include <vector>

namespace rollcall::reward::math {

/// A stretch of the line. An end that is missing is infinite.
struct Stretch {
  std::optional<Form> low{}, high{};
  bool low_open = true, high_open = true;
};
using Region = std::vector<Stretch>;

/// Whether the node is certainly an interval, a union or an inequality, and not a tuple.
bool is_region(const Node& node);
/// The region that an expression describes, and its variable in `variable`; nothing if it is not a
/// region, or if `variable` already names a different variable.
std::optional<Region> region_of(Values& values, const Node& node, std::string& variable);
Verdict compare_regions(Values& values, Region reference, Region answer);

/// left - right as c0 + c1 x + c2 x^2 with constants c, the last of which is not zero: these
/// constants, and the name of x in `variable`. Nothing for any other expression, or if `variable`
/// already names a different variable.
std::optional<std::vector<Form>> coefficients_of(Values& values, const Node& left,
                                                 const Node& right, std::string& variable);

}  // namespace rollcall::reward::math
