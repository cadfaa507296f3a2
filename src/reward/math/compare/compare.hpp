// The comparison of two expressions, according to their kinds.
#pragma once

#include "reward/math/values/values.hpp"

namespace rollcall::reward::math {

/// Compares two expressions and, recursively, their parts. "Equal" still requires
/// Values::all_is_defined(). Throws NoVerdict for what cannot be compared, or beyond the limits.
Verdict compare(Values& values, const Node& reference, const Node& answer);

}  // namespace rollcall::reward::math
