// Formulas with a parameter that is any integer: \frac{\pi}{4} + k\pi, k \in \mathbb{Z}.
#pragma once

#include "reward/math/values/values.hpp"

#include <optional>

namespace rollcall::reward::math {

/// Compares two formulas, at least one of which states such a parameter; nothing for other
/// expressions. The parameter's name does not count. Two formulas have the same values if the first
/// values of each are values of the other, which is a proof for linear ones.
std::optional<Verdict> compare_families(Values& values, const Node& reference, const Node& answer);

}  // namespace rollcall::reward::math
