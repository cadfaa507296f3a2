// Times of day: 3:30 PM, 15:30, 5 p.m., noon.
#pragma once

#include "reward/math/expression/expression.hpp"
#include "reward/math/verdict.hpp"

#include <optional>

namespace rollcall::reward::math {

/// Compares two times of day, at least one of which is certainly not a ratio; nothing for other
/// expressions.
std::optional<Verdict> compare_clocks(const Node& reference, const Node& answer);

}  // namespace rollcall::reward::math
