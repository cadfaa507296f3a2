// Functions of canonical forms: exact values where they are known, one atom otherwise.
#pragma once

#include "reward/math/algebra/algebra.hpp"

#include <string>
#include <vector>

namespace rollcall::reward::math {

/// sin, cos, ..., ln, exp, abs, floor, ceil, factorial of one argument; binomial of two. Throws
/// NoVerdict: undefined (a logarithm of zero, a factorial of anything but a natural number),
/// unsupported for a name that is not computed, or exhausted.
Form apply_function(Algebra& algebra, const std::string& name, const std::vector<Form>& arguments);

}  // namespace rollcall::reward::math
