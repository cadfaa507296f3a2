// Computes powers according to the kind of exponent: a whole number, a fraction, or an expression.
#include "reward/math/algebra/powers.hpp"

#include "reward/math/algebra/functions.hpp"

#include <algorithm>
#include <cstdlib>

namespace rollcall::reward::math {
namespace {

constexpr unsigned kTrialDivisors = 2000;    // larger factors are found only as perfect powers
constexpr std::int32_t kLargestRoot = 1000;  // largest degree of a root
// largest power of a polynomial that is multiplied out
constexpr std::int64_t kLargestExpansion = 512;

/// The content of a polynomial: divided by it, all coefficients are whole numbers without a common
/// factor.
mpq_class content(const Poly& poly) {
  mpz_class num = 0, den = 1;
  for (const Term& term : poly) {
    num = gcd(num, term.coefficient.get_num());
    den = lcm(den, term.coefficient.get_den());
  }
  mpq_class value(num, den);
  value.canonicalize();
  return value;
}

Form from_term(Term term) { return {{std::move(term)}, {{{}, 1}}}; }

/// An atom for a power that would be too long when multiplied out.
Form unexpanded(Algebra& algebra, const Form& base, const mpq_class& exponent) {
  return algebra.function("power", {base, constant(exponent)});
}

Form integer_power(Algebra& algebra, const Form& base, std::int64_t n) {
  const std::uint32_t size = std::uint32_t(std::llabs(n));
  if (n == 1) return base;
  if (n < 0 && is_zero(base)) undefined("a division by zero");
  if (base.top.size() == 1 && is_one(base.bottom)) {  // a number, or a product
    const Term& term = base.top[0];
    const std::size_t bits = mpz_sizeinbase(term.coefficient.get_num_mpz_t(), 2) +
                             mpz_sizeinbase(term.coefficient.get_den_mpz_t(), 2);
    if (abs(term.coefficient) != 1 && bits * size > kMostBits) return unexpanded(algebra, base, n);
    algebra.polynomials().budget().spend(std::int64_t(1 + ((bits * size) >> 9)));
    Term raised{term.factors, 1};
    mpz_pow_ui(raised.coefficient.get_num_mpz_t(), term.coefficient.get_num_mpz_t(), size);
    mpz_pow_ui(raised.coefficient.get_den_mpz_t(), term.coefficient.get_den_mpz_t(), size);
    if (n < 0) raised.coefficient = 1 / raised.coefficient;
    bool has_root = false;
    for (Factor& f : raised.factors) {
      f.exponent = f.exponent * Exponent{std::int32_t(n), 1};
      has_root |= algebra.atoms()[f.atom].kind == AtomKind::root;
    }
    if (has_root && n < 0) return algebra.inverse(integer_power(algebra, base, -n));
    std::vector<Term> reduced;
    algebra.polynomials().reduce(std::move(raised), reduced);
    return {collect(std::move(reduced)), {{{}, 1}}};
  }
  // A sum of t terms to the power n has (n + t - 1 over t - 1) terms.
  const std::size_t count = std::max(base.top.size(), base.bottom.size());
  double terms = 1;
  for (std::size_t t = 1; t < count && terms <= double(kMostTerms); ++t)
    terms *= double(size + t) / double(t);
  if (std::int64_t(size) > kLargestExpansion || terms > double(kMostTerms) / 4)
    return unexpanded(algebra, base, n);
  Form raised{algebra.polynomials().power(base.top, size),
              algebra.polynomials().power(base.bottom, size)};
  return algebra.quotient(n < 0 ? raised.bottom : raised.top, n < 0 ? raised.top : raised.bottom);
}

/// The root of a term. Positive constants are taken out of the root; the rest is an atom, or a
/// variable with a fractional exponent.
Form root_of_term(Algebra& algebra, const Term& term, std::int32_t degree) {
  Form outside = constant(1);
  Term rest{{}, term.coefficient < 0 ? -1 : 1};
  for (const Factor& f : term.factors) {
    const Atom& a = algebra.atoms()[f.atom];
    const bool is_positive =
        a.kind == AtomKind::prime || a.kind == AtomKind::pi || a.kind == AtomKind::e ||
        a.kind == AtomKind::logarithm ||
        (a.kind == AtomKind::power && rational(a.arguments[0]).value_or(mpq_class(0)) > 0) ||
        (a.kind == AtomKind::power && a.arguments[0].top.size() == 1 &&
         algebra.same(a.arguments[0], algebra.e()));
    const bool is_plain = a.kind == AtomKind::variable && f.exponent.num > 0 &&
                          (f.exponent.num < f.exponent.den || f.exponent == Exponent{1, 1});
    if (!is_positive && !(is_plain && term.coefficient > 0)) {
      rest.factors.push_back(f);
      continue;
    }
    std::vector<Term> reduced;
    algebra.polynomials().reduce({{{f.atom, f.exponent * Exponent{1, degree}}}, 1}, reduced);
    outside = algebra.multiply(outside, {std::move(reduced), {{{}, 1}}});
  }
  const mpq_class size = abs(term.coefficient);
  if (rest.factors.empty())
    return algebra.multiply(outside, root_of_number(algebra, rest.coefficient * size, degree));
  outside = algebra.multiply(outside, root_of_number(algebra, size, degree));
  if (rest.coefficient < 0 && degree % 2 == 1) rest.coefficient = 1, outside = negate(outside);
  return algebra.multiply(outside, algebra.function("root", {from_term(rest), constant(degree)}));
}

Form root(Algebra& algebra, const Form& base, std::int32_t degree) {
  if (is_zero(base)) return base;
  if (!is_one(base.bottom)) return algebra.function("root", {base, constant(degree)});
  if (base.top.size() == 1) return root_of_term(algebra, base.top[0], degree);
  const mpq_class outside = content(base.top);
  Poly primitive = base.top;
  for (Term& term : primitive) term.coefficient /= outside;
  Form inside = algebra.atom(AtomKind::root, "", {}, {{std::move(primitive), {{{}, 1}}}});
  inside.top[0].factors[0].exponent = {1, degree};
  return algebra.multiply(root_of_number(algebra, outside, degree), inside);
}

/// A power whose exponent is not a number. b^(u + v) becomes b^u b^v, a composite base is split
/// into its factors, numbers in the exponent become exponents of atoms, and Euler's formula is
/// applied to e^(i t).
Form symbolic_power(Algebra& algebra, const Form& base, const Form& exponent) {
  if (!is_one(exponent.bottom) || base.top.empty())
    return algebra.function("power", {base, exponent});
  const auto number = rational(base);
  if (number && *number > 0 && *number != 1) {
    const auto top = factors_of(number->get_num(), algebra.polynomials().budget()),
               bottom = factors_of(number->get_den(), algebra.polynomials().budget());
    const bool is_single = top.size() == 1 && top[0].second == 1 && bottom.empty();
    if (!is_single) {
      Form product = constant(1);
      for (const auto& [prime, times] : top)
        product = algebra.multiply(product, symbolic_power(algebra, constant(mpq_class(prime)),
                                                           algebra.scale(exponent, times)));
      for (const auto& [prime, times] : bottom)
        product = algebra.multiply(product, symbolic_power(algebra, constant(mpq_class(prime)),
                                                           algebra.scale(exponent, -times)));
      return product;
    }
  }
  const bool is_e = base.top.size() == 1 && is_one(base.bottom) && algebra.same(base, algebra.e());
  Form product = constant(1);
  for (const Term& term : exponent.top) {
    if (term.factors.empty()) {
      product = algebra.multiply(product, power(algebra, base, constant(term.coefficient)));
      continue;
    }
    if (is_e && term.factors.size() == 1 &&
        algebra.atoms()[term.factors[0].atom].kind == AtomKind::logarithm &&
        term.factors[0].exponent == Exponent{1, 1}) {
      product = algebra.multiply(
          product, power(algebra, constant(mpq_class(algebra.atoms()[term.factors[0].atom].base)),
                         constant(term.coefficient)));
      continue;
    }
    if (is_e &&
        algebra.atoms().has_imaginary(from_term(term))) {  // Euler: e^(i t) = cos t + i sin t
      const Form angle = algebra.divide(from_term(term), algebra.i());
      if (!algebra.atoms().has_imaginary(angle)) {
        product = algebra.multiply(
            product,
            algebra.add(apply_function(algebra, "cos", {angle}),
                        algebra.multiply(algebra.i(), apply_function(algebra, "sin", {angle}))));
        continue;
      }
    }
    Form factor = algebra.atom(AtomKind::power, "", {}, {base, from_term({term.factors, 1})});
    const mpq_class& c = term.coefficient;
    if (!c.get_num().fits_sint_p() || !c.get_den().fits_sint_p())
      exhausted("an exponent beyond what is computed");
    factor.top[0].factors[0].exponent = {std::int32_t(c.get_num().get_si()),
                                         std::int32_t(c.get_den().get_si())};
    product = algebra.multiply(product, factor);
  }
  return product;
}

}  // namespace

std::vector<std::pair<mpz_class, std::int32_t>> factors_of(mpz_class n, Budget& budget) {
  std::vector<std::pair<mpz_class, std::int32_t>> factors;
  budget.spend(std::int64_t(mpz_sizeinbase(n.get_mpz_t(), 2) >> 6));
  for (unsigned p = 2; p < kTrialDivisors && n > 1; p += p == 2 ? 1 : 2) {
    if (p > 64 && n < p * p) break;
    std::int32_t times = 0;
    for (; mpz_divisible_ui_p(n.get_mpz_t(), p) != 0; ++times)
      mpz_divexact_ui(n.get_mpz_t(), n.get_mpz_t(), p);
    if (times > 0) factors.emplace_back(p, times);
  }
  if (n == 1) return factors;
  if (mpz_sizeinbase(n.get_mpz_t(), 2) < 4096 && mpz_perfect_power_p(n.get_mpz_t()) != 0) {
    mpz_class root;
    // A root of what is left is above kTrialDivisors, so above 2^10, which bounds the degree k.
    for (unsigned k = unsigned(mpz_sizeinbase(n.get_mpz_t(), 2) / 10); k > 1; --k) {
      if (mpz_root(root.get_mpz_t(), n.get_mpz_t(), k) == 0) continue;
      factors.emplace_back(root, std::int32_t(k));
      return factors;
    }
  }
  factors.emplace_back(std::move(n), 1);
  return factors;
}

Form power(Algebra& algebra, const Form& base, const Form& exponent) {
  const auto number = rational(exponent);
  if (!number) {
    algebra.note_divisor(base);
    return symbolic_power(algebra, base, exponent);
  }
  const auto base_number = rational(base);
  if (base_number && (*base_number == 1 || (*base_number == 0 && *number > 0))) return base;
  if (!number->get_den().fits_sint_p() || number->get_den() > kLargestRoot)
    exhausted("a root beyond what is computed");
  if (*number == 0) {
    if (is_zero(base)) undefined("zero to the power of zero");
    algebra.note_divisor(base);
    return constant(1);
  }
  if (*number < 0) algebra.note_divisor(base);
  const Form root_of_base =
      number->get_den() == 1 ? base : root(algebra, base, std::int32_t(number->get_den().get_si()));
  if (!number->get_num().fits_sint_p()) return unexpanded(algebra, root_of_base, number->get_num());
  return integer_power(algebra, root_of_base, number->get_num().get_si());
}

Form root_of_number(Algebra& algebra, const mpq_class& value, std::int32_t degree) {
  if (value < 0) {
    if (degree % 2 == 1) return negate(root_of_number(algebra, -value, degree));
    if (degree == 2) return algebra.multiply(algebra.i(), root_of_number(algebra, -value, 2));
    undefined("an even root of a negative number");
  }
  Form result = constant(1);
  for (const bool is_bottom : {false, true}) {
    for (const auto& [prime, times] : factors_of(is_bottom ? value.get_den() : value.get_num(),
                                                 algebra.polynomials().budget())) {
      Form factor = algebra.atom(AtomKind::prime, "", prime);
      factor.top[0].factors[0].exponent =
          Exponent{is_bottom ? -times : times, 1} * Exponent{1, degree};
      std::vector<Term> reduced;
      algebra.polynomials().reduce(std::move(factor.top[0]), reduced);
      result = algebra.multiply(result, {std::move(reduced), {{{}, 1}}});
    }
  }
  return result;
}

}  // namespace rollcall::reward::math
