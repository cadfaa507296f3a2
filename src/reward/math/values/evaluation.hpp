// Computes the value of a canonical form at a point as intervals, and the smallest distance from
// zero of an algebraic number that is not zero.
#pragma once

#include "reward/math/algebra/atoms.hpp"
#include "reward/math/limits.hpp"
#include "reward/math/values/interval.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

namespace rollcall::reward::math {

using Point = std::map<int, mpq_class>;  ///< values of variables, by atom number

class Evaluation {
 public:
  /// Computes with `bits` bits of precision. With `real_only`, values that are not real count as
  /// undefined.
  Evaluation(const Atoms& atoms, const Point& point, int bits, bool real_only, Budget& budget)
      : atoms_(atoms),
        point_(point),
        bits_(bits),
        real_only_(real_only),
        budget_(budget),
        known_(atoms.size()) {}

  /// The value at the point. Nothing if the value is undefined there, or if this precision does not
  /// show that it is defined.
  std::optional<Box> value(const Poly& poly);
  std::optional<Box> value(const Form& form);
  /// The largest absolute binary exponent among the numbers computed so far. The larger it is, the
  /// more bits are needed to tell two numbers apart.
  long reach() const { return reach_; }

 private:
  std::optional<Box> atom(int number);
  std::optional<Box> compute(const Atom& atom, int number);
  std::optional<Box> raised(const Factor& factor);
  std::optional<Box> general_power(const Form& base, const Form& exponent);
  void note(long exponent) {
    constexpr long kZero = 1L << 50;  // zero itself has no exponent
    if (exponent > -kZero && exponent < kZero) reach_ = std::max(reach_, std::abs(exponent));
  }

  const Atoms& atoms_;
  const Point& point_;
  int bits_;
  bool real_only_;
  Budget& budget_;
  std::vector<std::optional<std::optional<Box>>> known_;
  long reach_ = 0;
};

/// B such that the number `poly` is zero or at least 2^-B in absolute value (separation bound of
/// Burnikel, Fleischer, Mehlhorn and Schirra, ESA 2001). Nothing if it has parts that are not built
/// from whole numbers by +, -, *, / and roots.
std::optional<long> separation_bits(const Atoms& atoms, const Poly& poly);

/// Sum of the bits of all coefficients, including those in arguments of atoms.
long coefficient_bits(const Atoms& atoms, const Poly& poly);

}  // namespace rollcall::reward::math
