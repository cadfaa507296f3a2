// Arithmetic expressions as a policy may write them, parsed and evaluated exactly. Any bytes are
// safe.
#pragma once

#include "reward/rational.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rollcall::reward {

struct Expression {
  Rational value;
  std::vector<std::int64_t> numbers;  ///< in order of appearance
};

constexpr std::size_t kLongestExpression = 1024;  ///< bytes
constexpr int kDeepestExpression = 64;            ///< nested parentheses

/// Grammar: sum = product { (+|-) product }; product = factor { (*|/) factor }; factor = digits |
/// "(" sum ")". Spaces are allowed between tokens. Returns nothing for any other text, for one
/// beyond the limits above, and if it divides by zero or leaves the exact range. Never throws.
std::optional<Expression> parse_expression(std::string_view text);

}  // namespace rollcall::reward
