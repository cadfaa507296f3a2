// Matrices.
#pragma once

#include "reward/math/values/values.hpp"

#include <optional>

namespace rollcall::reward::math {

/// Compares two expressions, at least one of which is a matrix, cell by cell. A column or a row may
/// be written as a tuple, and a matrix of one cell as its value.
Verdict compare_matrices(Values& values, const Node& reference, const Node& answer);

/// A product or a quotient of one matrix and numbers as a matrix with the numbers multiplied into
/// its cells; nothing for any other expression.
std::optional<Node> scaled_matrix(const Node& node);

}  // namespace rollcall::reward::math
