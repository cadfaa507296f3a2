// Canonical forms: quotients of polynomials in atoms (variables, constants, radicals, logarithms,
// functions) with exact rational coefficients.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::reward::math {

/// A rational exponent in lowest terms, den > 0.
struct Exponent {
  std::int32_t num = 1, den = 1;
  auto operator<=>(const Exponent&) const = default;
};
/// Both operators throw NoVerdict if the result does not fit in 32 bits.
Exponent operator+(Exponent a, Exponent b);
Exponent operator*(Exponent a, Exponent b);

struct Factor {
  int atom = 0;  ///< number of the atom in Atoms
  Exponent exponent;
  auto operator<=>(const Factor&) const = default;
};

struct Term {
  std::vector<Factor> factors;  ///< atoms ascending, no exponent is zero
  mpq_class coefficient;        ///< never zero within a polynomial
};
using Poly = std::vector<Term>;  ///< sorted by their lists of factors, each list once; zero has no
                                 ///< terms

/// The quotient top / bottom. The bottom is 1 or has at least two terms, since a bottom of one term
/// is divided out.
struct Form {
  Poly top, bottom;
};

enum class AtomKind {
  variable,
  pi,
  e,
  i,  ///< its square is -1
  /// `base` is a prime, or a whole number above 1 without small prime factors; exponents in [0, 1).
  prime,
  logarithm,  ///< the natural logarithm of `base`, which is as for `prime`
  root,       ///< argument 0 is a polynomial; exponents in [0, 1)
  power,      ///< argument 0 to the power of argument 1, which is not a number
  function    ///< name(arguments)
};

struct Atom {
  AtomKind kind;
  std::string name;
  mpz_class base{};
  std::vector<Form> arguments{};
  int partner = -1;  ///< for sin(x): the number of the atom cos(x), since sin^2 = 1 - cos^2; else
                     ///< -1
};

Form constant(const mpq_class& value);
bool is_zero(const Form& form);
Form negate(Form a);
std::optional<mpq_class> rational(const Form& form);  ///< the form's value if it is a number
/// the form's value if it is a 32-bit integer
std::optional<std::int32_t> small_integer(const Form& form);

}  // namespace rollcall::reward::math
