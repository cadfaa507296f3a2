// Equations that state a value: x = 5, m + n = 17, \sqrt{25} = 5.
#pragma once

#include "reward/math/values/values.hpp"

#include <optional>
#include <set>
#include <string>

namespace rollcall::reward::math {

bool has_names(const Node& node);                  ///< whether it has a variable
std::set<std::string> names_of(const Node& node);  ///< names of its variables

/// Whether all sides of a chain of equations are equal. The first side may just be a name for the
/// others. The chain 5 = 2 + 3 = 6 states nothing.
Verdict chain_holds(Values& values, const Node& chain);

/// Compares an equation on one side that states a value with a value on the other; nothing for
/// other expressions.
std::optional<Verdict> compare_equation_and_value(Values& values, const Node& reference,
                                                  const Node& answer);

/// Whether the answer's values solve an equation in one variable. They are all of its solutions if
/// the equation is a polynomial one and their number is its degree; if their number is different,
/// the verdict is left open.
Verdict check_solutions(Values& values, const Node& equation, const Node& answer);

}  // namespace rollcall::reward::math
