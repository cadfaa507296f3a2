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
Exponent operator+(Exponent a, Exponent b);  ///< throws NoVerdict beyond 32 bits, as operator* does
Exponent operator*(Exponent a, Exponent b);

struct Factor {
  int atom = 0;  ///< a number given by Algebra
  Exponent exponent;
  auto operator<=>(const Factor&) const = default;
};

struct Term {
  std::vector<Factor> factors;  ///< atoms ascending, no exponent zero
  mpq_class coefficient;        ///< never zero within a polynomial
};
using Poly = std::vector<Term>;  ///< factors ascending, each list once; empty: zero

/// top / bottom. The bottom is 1 or has at least two terms, since a single one is divided out.
struct Form {
  Poly top, bottom;
};

enum class AtomKind {
  variable,
  pi,
  e,
  i,          ///< its square is -1
  prime,      ///< base: a whole number above 1, without small common factors with others; exponents
              ///< from 0 to below 1
  logarithm,  ///< of such a number
  root,       ///< argument 0 is a polynomial; exponents from 0 to below 1
  power,      ///< argument 0 to the argument 1, which is no number
  function    ///< name(arguments)
};

struct Atom {
  AtomKind kind;
  std::string name;
  mpz_class base{};
  std::vector<Form> arguments{};
  int partner = -1;  ///< of sin(x): cos(x), since sin^2 = 1 - cos^2
};

Form constant(const mpq_class& value);
bool is_zero(const Form& form);
Form negate(Form a);
std::optional<mpq_class> rational(const Form& form);          ///< its value where it is a number
std::optional<std::int32_t> small_integer(const Form& form);  ///< likewise

}  // namespace rollcall::reward::math
