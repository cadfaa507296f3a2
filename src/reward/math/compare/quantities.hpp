// Values with units.
#pragma once

#include "reward/math/parser/units.hpp"
#include "reward/math/values/values.hpp"

namespace rollcall::reward::math {

struct Quantity {
  Form value;   ///< in `unit`
  Unit unit{};  ///< empty for a plain number
};

/// The value and unit of an expression. Throws NoVerdict for units inside functions and for sums of
/// different units.
Quantity quantity_of(Values& values, const Node& node);

/// Compares two quantities. A unit may be left out on one side; if both sides have one, it counts,
/// and so do the things that are counted.
Verdict compare_quantities(Values& values, const Node& reference, const Node& answer);

}  // namespace rollcall::reward::math
