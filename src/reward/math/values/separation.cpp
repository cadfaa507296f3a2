// Separation bounds of algebraic numbers. E = U / L for algebraic integers U and L whose conjugates
// are all below 2^u and 2^l in absolute value, in a field of degree D. Unless E is zero, U is not
// zero, the product of its conjugates is a whole number other than zero, and so |E| >= 2^-((D - 1)
// u + l).
#include "reward/math/values/evaluation.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace rollcall::reward::math {
namespace {

constexpr long kMostBoundBits = 1L << 20;
constexpr long kHighestDegree = 4096;

struct Bound {
  long u = 0, l = 0;  // binary logarithms, rounded up
};

long bits(const mpz_class& n) { return long(mpz_sizeinbase(n.get_mpz_t(), 2)); }

class Bounds {
 public:
  explicit Bounds(const Atoms& atoms) : atoms_(atoms) {}

  std::optional<Bound> of(const Poly& poly) {
    Bound sum;
    for (const Term& term : poly) {
      const auto part = of(term);
      if (!part) return std::nullopt;
      sum.l += part->l;
      sum.u = std::max(sum.u, part->u);
      if (sum.l > kMostBoundBits || sum.u > kMostBoundBits) return std::nullopt;
    }
    // each term's U is multiplied by the other terms' L
    sum.u += sum.l + bits(mpz_class(static_cast<unsigned long>(poly.size())));
    return sum;
  }

  std::optional<long> degree() const {
    long product = 1;
    for (const auto& [atom, index] : indices_) {
      product *= index;
      if (product > kHighestDegree) return std::nullopt;
    }
    return product;
  }

 private:
  std::optional<Bound> of(const Term& term) {
    Bound product{bits(term.coefficient.get_num()),
                  bits(term.coefficient.get_den()) - (term.coefficient.get_den() == 1 ? 1 : 0)};
    for (const Factor& factor : term.factors) {
      const Atom& a = atoms_[factor.atom];
      const auto [num, den] = factor.exponent;
      if (num < 0) return std::nullopt;
      Bound base;
      if (a.kind == AtomKind::prime) base = {bits(a.base), 0};
      else if (a.kind == AtomKind::root) {
        const auto inside = of(a.arguments[0].top);
        if (!inside) return std::nullopt;
        base = *inside;
      } else if (a.kind != AtomKind::i) return std::nullopt;
      auto& index = indices_[factor.atom];
      index = std::lcm(std::max(index, 1L), a.kind == AtomKind::i ? 2L : long(den));
      // (U L^(d-1))^(1/d) / L
      const Bound root{(base.u + (den - 1) * base.l + den - 1) / den, base.l};
      product.u += num * root.u;
      product.l += num * root.l;
    }
    return product;
  }

  const Atoms& atoms_;
  std::map<int, long> indices_;  // index of each radical, by its atom
};

}  // namespace

std::optional<long> separation_bits(const Atoms& atoms, const Poly& poly) {
  Bounds bounds(atoms);
  const auto bound = bounds.of(poly);
  const auto degree = bounds.degree();
  if (!bound || !degree) return std::nullopt;
  return (*degree - 1) * bound->u + bound->l + 1;
}

long coefficient_bits(const Atoms& atoms, const Poly& poly) {
  long total = 0;
  std::set<int> seen;
  std::vector<const Poly*> open{&poly};
  while (!open.empty()) {
    const Poly& next = *open.back();
    open.pop_back();
    for (const Term& term : next) {
      total += bits(term.coefficient.get_num()) + bits(term.coefficient.get_den());
      for (const Factor& factor : term.factors) {
        if (!seen.insert(factor.atom).second) continue;
        total += bits(atoms[factor.atom].base);
        for (const Form& argument : atoms[factor.atom].arguments)
          open.push_back(&argument.top), open.push_back(&argument.bottom);
      }
    }
  }
  return total;
}

}  // namespace rollcall::reward::math
