// The value of a canonical form at a point, as intervals; and how close to zero an algebraic number
// can come without being zero.
#pragma once

#include "reward/math/atoms.hpp"
#include "reward/math/interval.hpp"
#include "reward/math/limits.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

namespace rollcall::reward::math {

using Point = std::map<int, mpq_class>;  ///< variables by their atoms

class Evaluation {
 public:
  /// `real_only`: what is not real is not defined.
  Evaluation(const Atoms& atoms, const Point& point, int bits, bool real_only, Budget& budget)
      : atoms_(atoms),
        point_(point),
        bits_(bits),
        real_only_(real_only),
        budget_(budget),
        known_(atoms.size()) {}

  /// None where it is not defined there, or not known to be at this precision.
  std::optional<Box> value(const Poly& poly);
  std::optional<Box> value(const Form& form);
  /// The largest size of an exponent of two among the parts: numbers so large or small need more
  /// bits to be told apart.
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

/// B such that the number `poly` is zero or at least 2^-B in size (separation bound of Burnikel,
/// Fleischer, Mehlhorn and Schirra, ESA 2001); none where it has parts that are not built from
/// whole numbers by +, -, *, / and roots.
std::optional<long> separation_bits(const Atoms& atoms, const Poly& poly);

/// Bits of all coefficients, within functions too.
long coefficient_bits(const Atoms& atoms, const Poly& poly);

}  // namespace rollcall::reward::math
