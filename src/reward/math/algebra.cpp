// Sums, products and quotients of canonical forms.
#include "reward/math/algebra.hpp"

#include <algorithm>
#include <set>

namespace rollcall::reward::math {
namespace {

bool before(const Term& a, const Term& b) { return a.factors < b.factors; }

std::size_t bits(const mpq_class& q) {
  return mpz_sizeinbase(q.get_num_mpz_t(), 2) + mpz_sizeinbase(q.get_den_mpz_t(), 2);
}

bool is_one(const Poly& p) {
  return p.size() == 1 && p[0].factors.empty() && p[0].coefficient == 1;
}

/// What makes two atoms one: their kind, name and arguments. Atoms within are numbers, so the text
/// is canonical too.
void write(const Poly& poly, std::string& to) {
  for (const Term& term : poly) {
    to += term.coefficient.get_str(36);
    for (const Factor& f : term.factors)
      to += '*' + std::to_string(f.atom) + '^' + std::to_string(f.exponent.num) + '/' +
            std::to_string(f.exponent.den);
    to += '+';
  }
}

}  // namespace

int Algebra::atom_number(AtomKind kind, const std::string& name, mpz_class base,
                         std::vector<Form> arguments) {
  std::string key(1, char('a' + int(kind)));
  key += name;
  if (base != 0) key += base.get_str(36);
  for (const Form& form : arguments)
    key += '(', write(form.top, key), key += ':', write(form.bottom, key);
  const auto [row, is_new] = numbers_.emplace(std::move(key), int(atoms_.size()));
  if (is_new) {
    if (atoms_.size() >= kMostNodes) exhausted("more functions and variables than are compared");
    atoms_.push_back({kind, name, std::move(base), std::move(arguments), -1});
  }
  return row->second;
}

Form Algebra::atom_form(int number) const {
  Form form = constant(1);
  form.top[0].factors.push_back({number, {1, 1}});
  return form;
}

Form Algebra::atom(AtomKind kind, const std::string& name, mpz_class base,
                   std::vector<Form> arguments) {
  const int number = atom_number(kind, name, std::move(base), std::move(arguments));
  return atom_form(number);
}

/// Sorts, adds up what belongs together, drops zeros.
Poly Algebra::collect(std::vector<Term> terms) {
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

Poly Algebra::add(Poly a, const Poly& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  budget_.spend(std::int64_t(a.size() + b.size()));
  a.insert(a.end(), b.begin(), b.end());
  return collect(std::move(a));
}

/// Brings one factor within its range. True: `term` went on to `to` as several terms.
bool Algebra::reduce_factor(Term& term, std::size_t at, std::vector<Term>& to) {
  Factor& factor = term.factors[at];
  const Atom& a = atom(factor.atom);
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
  // sin^2 = 1 - cos^2, and root(p)^n = p: the rest of the term times a polynomial.
  Poly expanded;
  if (is_root) {
    expanded = power(a.arguments[0].top, std::uint32_t(whole));
  } else {
    Poly cosine_squared(1, Term{std::vector<Factor>(1, Factor{a.partner, Exponent{2, 1}}), -1});
    expanded = power(add(constant(1).top, cosine_squared), std::uint32_t(x.num / 2));
  }
  factor.exponent = is_root ? Exponent{x.num - whole * x.den, x.den} : Exponent{x.num % 2, 1};
  if (factor.exponent.num == 0) term.factors.erase(term.factors.begin() + std::ptrdiff_t(at));
  const Poly product = multiply({term}, expanded);
  to.insert(to.end(), product.begin(), product.end());
  return true;
}

void Algebra::reduce(Term term, std::vector<Term>& to) {
  for (std::size_t at = 0; at < term.factors.size(); ++at)
    if (reduce_factor(term, at, to)) return;
  std::erase_if(term.factors, [](const Factor& f) { return f.exponent.num == 0; });
  to.push_back(std::move(term));
}

Poly Algebra::multiply(const Poly& a, const Poly& b) {
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

Poly Algebra::power(const Poly& base, std::uint32_t n) {
  Poly result{{{}, 1}}, square = base;
  for (; n > 0; n >>= 1) {
    if ((n & 1) != 0) result = multiply(result, square);
    if (n > 1) square = multiply(square, square);
  }
  return result;
}

/// A bottom of one term is divided out; one that the top is a multiple of too.
Form Algebra::quotient(Poly top, Poly bottom) {
  if (bottom.empty()) undefined("a division by zero");
  if (top.empty()) return constant(0);
  if (bottom.size() == 1) {
    if (is_one(bottom)) return {std::move(top), std::move(bottom)};
    Term inverse{bottom[0].factors, 1 / bottom[0].coefficient};
    Poly rest{{{}, 1}};
    for (Factor& f : inverse.factors) {
      f.exponent.num = -f.exponent.num;
      const Atom& a = atom(f.atom);
      if (a.kind != AtomKind::root) continue;
      rest = multiply(rest, a.arguments[0].top);  // 1 / root(p) = root(p)^(n-1) / p
      f.exponent = f.exponent + Exponent{1, 1};
    }
    std::vector<Term> reduced;
    reduce(std::move(inverse), reduced);
    return {multiply(top, collect(std::move(reduced))), std::move(rest)};
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
  if (is_one(a.bottom) && is_one(b.bottom)) return {add(a.top, b.top), a.bottom};
  return quotient(add(multiply(a.top, b.bottom), multiply(b.top, a.bottom)),
                  multiply(a.bottom, b.bottom));
}

Form Algebra::multiply(const Form& a, const Form& b) {
  if (is_one(a.bottom) && is_one(b.bottom)) return {multiply(a.top, b.top), a.bottom};
  return quotient(multiply(a.top, b.top), multiply(a.bottom, b.bottom));
}

Form Algebra::inverse(const Form& a) {
  note_divisor(a);
  return quotient(a.bottom, a.top);
}

/// Exact already, and left out: numbers (a zero is refused where it is divided by), products of
/// constants, polynomials in variables alone.
void Algebra::note_divisor(const Form& form) {
  const auto has_only = [&](std::initializer_list<AtomKind> kinds) {
    const auto is_one_of = [&](const Factor& f) {
      return std::find(kinds.begin(), kinds.end(), atom(f.atom).kind) != kinds.end();
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
  write(form.top, key);
  if (divisor_keys_.insert(std::move(key)).second) divisors_.push_back({form.top, {{{}, 1}}});
}

Form Algebra::negate(Form a) const {
  for (Term& term : a.top) term.coefficient = -term.coefficient;
  return a;
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
  return equal(multiply(a.top, b.bottom), multiply(b.top, a.bottom));
}

std::set<int> Algebra::atoms_of(const Form& form) const {
  std::set<int> seen;
  std::vector<const Form*> open{&form};
  while (!open.empty()) {
    const Form& next = *open.back();
    open.pop_back();
    for (const Poly* poly : {&next.top, &next.bottom})
      for (const Term& term : *poly)
        for (const Factor& f : term.factors)
          if (seen.insert(f.atom).second)
            for (const Form& argument : atom(f.atom).arguments) open.push_back(&argument);
  }
  return seen;
}

std::vector<int> Algebra::variables_of(const Form& form) const {
  std::vector<int> variables;
  for (const int a : atoms_of(form))
    if (atom(a).kind == AtomKind::variable) variables.push_back(a);
  return variables;
}

bool Algebra::has_imaginary(const Form& form) const {
  const auto atoms = atoms_of(form);
  return std::any_of(atoms.begin(), atoms.end(),
                     [&](int a) { return atom(a).kind == AtomKind::i; });
}

}  // namespace rollcall::reward::math
