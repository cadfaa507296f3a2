// Exact sums, products and powers of polynomials in the atoms of one comparison.
#pragma once

#include "reward/math/algebra/atoms.hpp"
#include "reward/math/algebra/form.hpp"
#include "reward/math/limits.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::reward::math {

/// Results are canonical: i^2, whole powers of primes and of roots, and sin^2 are replaced by their
/// values. Every operation throws NoVerdict (exhausted) beyond the limits of limits.hpp.
class Polynomials {
 public:
  explicit Polynomials(std::int64_t most_work) : budget_(most_work, "products of terms") {}
  Poly add(Poly a, const Poly& b);
  Poly multiply(const Poly& a, const Poly& b);
  Poly power(const Poly& base, std::uint32_t n);
  /// Appends the terms of the canonical form of `term` to `to`, which collect() is to sum.
  void reduce(Term term, std::vector<Term>& to);

  Atoms& atoms() { return atoms_; }
  const Atoms& atoms() const { return atoms_; }
  Budget& budget() { return budget_; }

 private:
  bool reduce_factor(Term& term, std::size_t index, std::vector<Term>& to);

  Atoms atoms_;
  Budget budget_;
};

/// Sorts terms, adds up those with equal factors and drops zeros. Throws NoVerdict (exhausted) for
/// more than kMostTerms.
Poly collect(std::vector<Term> terms);

inline bool is_one(const Poly& p) {
  return p.size() == 1 && p[0].factors.empty() && p[0].coefficient == 1;
}

}  // namespace rollcall::reward::math
