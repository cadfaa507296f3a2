// Polynomials as sorted lists of terms.
#include "reward/math/algebra/polynomials.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace rollcall::reward::math {
namespace {

bool before(const Term& a, const Term& b) { return a.factors < b.factors; }

std::size_t bits(const mpq_class& q) {
  return mpz_sizeinbase(q.get_num_mpz_t(), 2) + mpz_sizeinbase(q.get_den_mpz_t(), 2);
}

}  // namespace

Poly collect(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(), before);
  Poly sum;
  for (Term& term : terms) {
    if (!sum.empty() && sum.back().factors == term.factors) {
      sum.back().coefficient += term.coefficient;
      if (sum.back().coefficient == 0) sum.pop_back();
    } else if (term.coefficient != 0) {
      sum.push_back(std::move(term));
    }
  }
  if (sum.size() > kMostTerms) exhausted("more terms than one polynomial may have");
  return sum;
}

Poly Polynomials::add(Poly a, const Poly& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  budget_.spend(std::int64_t(a.size() + b.size()));
  a.insert(a.end(), b.begin(), b.end());
  return collect(std::move(a));
}

/// Brings the exponent of one factor into the range of its atom. Returns true if that made several
/// terms of `term`, which are then in `to`.
bool Polynomials::reduce_factor(Term& term, std::size_t index, std::vector<Term>& to) {
  Factor& factor = term.factors[index];
  const Atom& a = atoms_[factor.atom];
  const Exponent x = factor.exponent;
  const std::int32_t whole = x.num >= 0 ? x.num / x.den : -((-x.num + x.den - 1) / x.den);
  if (a.kind == AtomKind::i && x.den == 1) {
    const int turn = ((x.num % 4) + 4) % 4;
    if (turn >= 2) term.coefficient = -term.coefficient;
    factor.exponent = {turn % 2, 1};
    return false;
  }
  if (a.kind == AtomKind::prime && whole != 0) {
    if (std::size_t(std::abs(whole)) * mpz_sizeinbase(a.base.get_mpz_t(), 2) > kMostBits)
      exhausted("a power beyond what is computed exactly");
    mpz_class scale;
    mpz_pow_ui(scale.get_mpz_t(), a.base.get_mpz_t(), unsigned(std::abs(whole)));
    if (whole > 0) term.coefficient *= scale;
    else term.coefficient /= scale;
    factor.exponent = {x.num - whole * x.den, x.den};
    return false;
  }
  const bool is_sine = a.kind == AtomKind::function && a.partner >= 0 && x.den == 1 && x.num >= 2;
  const bool is_root = a.kind == AtomKind::root && whole >= 1;
  if (!is_sine && !is_root) return false;
  // sin^2 = 1 - cos^2 and root(p)^n = p: multiplies the rest of the term by a polynomial.
  Poly expanded;
  if (is_root) {
    expanded = power(a.arguments[0].top, std::uint32_t(whole));
  } else {
    Poly cosine_squared(1, Term{std::vector<Factor>(1, Factor{a.partner, Exponent{2, 1}}), -1});
    expanded = power(add(constant(1).top, cosine_squared), std::uint32_t(x.num / 2));
  }
  factor.exponent = is_root ? Exponent{x.num - whole * x.den, x.den} : Exponent{x.num % 2, 1};
  if (factor.exponent.num == 0) term.factors.erase(term.factors.begin() + std::ptrdiff_t(index));
  const Poly product = multiply({term}, expanded);
  to.insert(to.end(), product.begin(), product.end());
  return true;
}

void Polynomials::reduce(Term term, std::vector<Term>& to) {
  for (std::size_t n = 0; n < term.factors.size(); ++n)
    if (reduce_factor(term, n, to)) return;
  std::erase_if(term.factors, [](const Factor& f) { return f.exponent.num == 0; });
  to.push_back(std::move(term));
}

Poly Polynomials::multiply(const Poly& a, const Poly& b) {
  if (is_one(a)) return b;
  if (is_one(b)) return a;
  std::vector<Term> terms;
  terms.reserve(a.size() * b.size() > kMostTerms * 16 ? 0 : a.size() * b.size());
  for (const Term& s : a) {
    for (const Term& t : b) {
      const std::size_t length = bits(s.coefficient) + bits(t.coefficient);
      if (length > kMostBits) exhausted("a number of more digits than are computed exactly");
      budget_.spend(std::int64_t(1 + (length >> 9)));
      Term product{{}, s.coefficient * t.coefficient};
      product.factors.reserve(s.factors.size() + t.factors.size());
      auto f = s.factors.begin();
      auto g = t.factors.begin();
      while (f != s.factors.end() || g != t.factors.end()) {
        if (g == t.factors.end() || (f != s.factors.end() && f->atom < g->atom))
          product.factors.push_back(*f++);
        else if (f == s.factors.end() || g->atom < f->atom) product.factors.push_back(*g++);
        else product.factors.push_back({f->atom, f->exponent + g->exponent}), ++f, ++g;
      }
      reduce(std::move(product), terms);
      if (terms.size() > kMostTerms * 16) terms = collect(std::move(terms));
    }
  }
  return collect(std::move(terms));
}

Poly Polynomials::power(const Poly& base, std::uint32_t n) {
  Poly result{{{}, 1}}, square = base;
  for (; n > 0; n >>= 1) {
    if ((n & 1) != 0) result = multiply(result, square);
    if (n > 1) square = multiply(square, square);
  }
  return result;
}

}  // namespace rollcall::reward::math
