// Lists, sets and tuples: several values on at least one side.
#pragma once

#include "reward/math/values/values.hpp"

#include <vector>

namespace rollcall::reward::math {

/// Compares two expressions, at least one of which has_several() values. A list written only with
/// commas may be a tuple, and so may values that have names; otherwise order does not count. A
/// value that an answer gives several times counts as that one value. Several values of which only
/// one is right are wrong.
Verdict compare_lists(Values& values, const Node& reference, const Node& answer);

/// Compares the n-th part of one side with the n-th part of the other. The number of parts counts.
Verdict compare_in_order(Values& values, const std::vector<Node>& a, const std::vector<Node>& b);

}  // namespace rollcall::reward::math
