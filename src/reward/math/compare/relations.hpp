// Equations and inequalities, which are the same up to the order of their sides and a common
// factor.
#pragma once

#include "reward/math/values/values.hpp"

namespace rollcall::reward::math {

/// Whether the node is x = ... or f(x) = ...: a name on the left that the right side does not
/// contain.
bool is_assignment(const Node& node);
/// The value of an assignment or of a chain of equations, the set after an "element of"; otherwise
/// the node itself.
const Node& value_of(const Node& node);

/// Compares two relations, by the values that they give to a name or by the difference between
/// their sides.
Verdict compare_relations(Values& values, const Node& reference, const Node& answer);

/// The form multiplied by the powers of variables in its denominators.
Form without_poles(Algebra& algebra, const Form& form);

}  // namespace rollcall::reward::math
