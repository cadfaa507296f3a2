// Plus-minus: an expression with one has two values.
#pragma once

#include "reward/math/expression/expression.hpp"

#include <vector>

namespace rollcall::reward::math {

bool has_two_signs(const Node& node);  ///< whether the expression has a plus-minus in its
                                       ///< arithmetic
/// The value with the upper sign and the one with the lower sign. Throws NoVerdict (unsupported)
/// for more than one plus-minus.
std::vector<Node> both_signs(const Node& node);

}  // namespace rollcall::reward::math
