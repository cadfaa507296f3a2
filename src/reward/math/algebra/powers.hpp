// Powers and roots of canonical forms.
#pragma once

#include "reward/math/algebra/algebra.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace rollcall::reward::math {

/// base^exponent, exact if the result is a number or a root of numbers, one atom otherwise. Throws
/// NoVerdict: undefined (0^0, an even root of a negative number, a division by zero), or exhausted.
Form power(Algebra& algebra, const Form& base, const Form& exponent);

/// The root of a number: for a negative number, the real root if the degree is odd, a multiple of i
/// if it is 2. Throws NoVerdict (undefined) for other even roots of negative numbers.
Form root_of_number(Algebra& algebra, const mpq_class& value, std::int32_t degree);

/// A whole number above 0 as factors with their exponents: small primes by trial division, and the
/// rest as one factor, or as a root if the rest is a power of it. Its work is counted in `budget`.
std::vector<std::pair<mpz_class, std::int32_t>> factors_of(mpz_class n, Budget& budget);

}  // namespace rollcall::reward::math
