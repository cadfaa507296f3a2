// Sums, products and quotients of canonical forms.
#include "reward/math/algebra/algebra.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace rollcall::reward::math {

Form Algebra::atom(AtomKind kind, const std::string& name, mpz_class base,
                   std::vector<Form> arguments) {
  return atom_form(atoms().number(kind, name, std::move(base), std::move(arguments)));
}

Form Algebra::quotient(Poly top, Poly bottom) {
  if (bottom.empty()) undefined("a division by zero");
  if (top.empty()) return constant(0);
  if (bottom.size() == 1) {
    if (is_one(bottom)) return {std::move(top), std::move(bottom)};
    Term inverse{bottom[0].factors, 1 / bottom[0].coefficient};
    Poly rest{{{}, 1}};
    for (Factor& f : inverse.factors) {
      f.exponent.num = -f.exponent.num;
      const Atom& a = atoms()[f.atom];
      if (a.kind != AtomKind::root) continue;
      rest = polynomials_.multiply(rest, a.arguments[0].top);  // 1 / root(p) = root(p)^(n-1) / p
      f.exponent = f.exponent + Exponent{1, 1};
    }
    std::vector<Term> reduced;
    polynomials_.reduce(std::move(inverse), reduced);
    return {polynomials_.multiply(top, collect(std::move(reduced))), std::move(rest)};
  }
  if (top.size() == bottom.size()) {
    const mpq_class ratio = top[0].coefficient / bottom[0].coefficient;
    const auto is_multiple = [&](const Term& t, const Term& b) {
      return t.factors == b.factors && t.coefficient == ratio * b.coefficient;
    };
    if (std::equal(top.begin(), top.end(), bottom.begin(), is_multiple)) return constant(ratio);
  }
  const mpq_class lead = bottom[0].coefficient;
  for (Term& t : top) t.coefficient /= lead;
  for (Term& t : bottom) t.coefficient /= lead;
  return {std::move(top), std::move(bottom)};
}

Form Algebra::add(const Form& a, const Form& b) {
  if (is_one(a.bottom) && is_one(b.bottom)) return {polynomials_.add(a.top, b.top), a.bottom};
  return quotient(polynomials_.add(polynomials_.multiply(a.top, b.bottom),
                                   polynomials_.multiply(b.top, a.bottom)),
                  polynomials_.multiply(a.bottom, b.bottom));
}

Form Algebra::multiply(const Form& a, const Form& b) {
  if (is_one(a.bottom) && is_one(b.bottom)) return {polynomials_.multiply(a.top, b.top), a.bottom};
  return quotient(polynomials_.multiply(a.top, b.top), polynomials_.multiply(a.bottom, b.bottom));
}

Form Algebra::inverse(const Form& a) {
  note_divisor(a);
  return quotient(a.bottom, a.top);
}

/// Numbers, products of constants and polynomials in variables alone are left out: a zero among
/// numbers is refused at the division, a product of constants is not zero, and a polynomial in
/// variables is zero at few points.
void Algebra::note_divisor(const Form& form) {
  const auto has_only = [&](std::initializer_list<AtomKind> kinds) {
    const auto is_one_of = [&](const Factor& f) {
      return std::find(kinds.begin(), kinds.end(), atoms()[f.atom].kind) != kinds.end();
    };
    return std::all_of(form.top.begin(), form.top.end(), [&](const Term& t) {
      return std::all_of(t.factors.begin(), t.factors.end(), is_one_of);
    });
  };
  if (has_only({AtomKind::variable}) ||
      (form.top.size() == 1 && has_only({AtomKind::variable, AtomKind::pi, AtomKind::e, AtomKind::i,
                                         AtomKind::prime, AtomKind::logarithm})))
    return;
  std::string key;
  append_key(form.top, key);
  if (divisor_keys_.insert(std::move(key)).second) divisors_.push_back({form.top, {{{}, 1}}});
}

Form Algebra::scale(const Form& a, const mpq_class& by) { return multiply(a, constant(by)); }

bool Algebra::same(const Form& a, const Form& b) {
  const auto equal = [](const Poly& p, const Poly& q) {
    return std::equal(p.begin(), p.end(), q.begin(), q.end(), [](const Term& s, const Term& t) {
      return s.factors == t.factors && s.coefficient == t.coefficient;
    });
  };
  if (equal(a.top, b.top) && equal(a.bottom, b.bottom)) return true;
  if (is_one(a.bottom) && is_one(b.bottom)) return false;
  return equal(polynomials_.multiply(a.top, b.bottom), polynomials_.multiply(b.top, a.bottom));
}

}  // namespace rollcall::reward::math
