// Finds the kind of structure that an expression is: several values, a tuple, a named point, an
// infinity.
#pragma once

#include "reward/math/expression/expression.hpp"

#include <optional>
#include <vector>

namespace rollcall::reward::math {

/// The reason for the verdict "different" on two expressions that no rule compares.
inline constexpr const char* kOtherKind = "an expression of another kind";

bool has_several(const Node& node);  ///< whether the node is a list, a set or a plus-minus
/// Whether the node is not a single value: several values, a tuple or an interval, a matrix, a
/// union.
bool is_structure(const Node& node);
/// The coordinates of a named point, A(1,2), as a tuple; nothing for any other expression.
std::optional<Node> point_of(const Node& node);
/// The items of a list or a set, or the expression itself as the only item; a plus-minus becomes
/// its two values.
std::vector<Node> spread(const Node& node);
int infinity_of(const Node& node);  ///< 1 or -1; 0 for a finite expression

}  // namespace rollcall::reward::math
