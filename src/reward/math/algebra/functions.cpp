// Computes each function: known values exactly, and the signs and periods of the rest.
#include "reward/math/algebra/functions.hpp"

#include "reward/math/algebra/powers.hpp"

#include <algorithm>

namespace rollcall::reward::math {
namespace {

constexpr std::int32_t kLargestFactorial = 3000;  // 9,131 digits

bool is_negative(const Form& form) { return !form.top.empty() && form.top[0].coefficient < 0; }
mpz_class floor_of(const mpq_class& q) {
  mpz_class whole;
  mpz_fdiv_q(whole.get_mpz_t(), q.get_num_mpz_t(), q.get_den_mpz_t());
  return whole;
}

/// ln of a whole number above 1, as a sum over its factors.
Form logarithm_of_number(Algebra& algebra, const mpz_class& n) {
  Form sum = constant(0);
  for (const auto& [prime, times] : factors_of(n, algebra.polynomials().budget()))
    sum = algebra.add(sum, algebra.scale(algebra.atom(AtomKind::logarithm, "", prime), times));
  return sum;
}

Form logarithm(Algebra& algebra, const Form& a) {
  if (is_zero(a)) undefined("a logarithm of zero");
  algebra.note_divisor(a);
  if (!is_one(a.bottom) || a.top.size() != 1 || a.top[0].coefficient < 0)
    return algebra.function("ln", {a});
  const Term& term = a.top[0];
  Form sum = algebra.subtract(logarithm_of_number(algebra, term.coefficient.get_num()),
                              logarithm_of_number(algebra, term.coefficient.get_den()));
  Term rest{{}, 1};
  for (const Factor& f : term.factors) {
    const Atom& factor = algebra.atoms()[f.atom];
    const mpq_class times(f.exponent.num, f.exponent.den);
    if (factor.kind == AtomKind::prime)
      sum = algebra.add(sum,
                        algebra.scale(algebra.atom(AtomKind::logarithm, "", factor.base), times));
    else if (factor.kind == AtomKind::e) sum = algebra.add(sum, constant(times));
    else if (factor.kind == AtomKind::power && algebra.same(factor.arguments[0], algebra.e()))
      sum = algebra.add(sum, algebra.scale(factor.arguments[1], times));
    else rest.factors.push_back(f);
  }
  if (rest.factors.empty()) return sum;
  return algebra.add(sum, algebra.function("ln", {{{rest}, {{{}, 1}}}}));
}

/// cos(halves * pi / 2) exactly, at multiples of pi/12; nothing elsewhere.
std::optional<Form> cosine_of_turn(Algebra& algebra, mpq_class halves) {
  mpq_class turn = halves / 2 - 2 * mpq_class(floor_of(halves / 4));  // in units of pi, 0 to 2
  turn.canonicalize();
  if (turn > 1) turn = 2 - turn;
  const bool negative = turn > mpq_class(1, 2);
  if (negative) turn = 1 - turn;
  const mpq_class twelfths = turn * 12;
  if (twelfths.get_den() != 1) return std::nullopt;
  const auto root_of = [&](int n) { return root_of_number(algebra, n, 2); };
  Form value;
  switch (int(twelfths.get_num().get_si())) {
    case 0: value = constant(1); break;
    case 1: value = algebra.scale(algebra.add(root_of(6), root_of(2)), mpq_class(1, 4)); break;
    case 2: value = algebra.scale(root_of(3), mpq_class(1, 2)); break;
    case 3: value = algebra.scale(root_of(2), mpq_class(1, 2)); break;
    case 4: value = constant(mpq_class(1, 2)); break;
    case 5: value = algebra.scale(algebra.subtract(root_of(6), root_of(2)), mpq_class(1, 4)); break;
    default: value = constant(0);
  }
  return negative ? negate(value) : value;
}

Form circular(Algebra& algebra, const std::string& name, const Form& a) {
  const bool is_sine = name == "sin";
  if (is_zero(a)) return constant(is_sine ? 0 : 1);
  const bool is_turn = is_one(a.bottom) && a.top.size() == 1 && a.top[0].factors.size() == 1 &&
                       algebra.atoms()[a.top[0].factors[0].atom].kind == AtomKind::pi &&
                       a.top[0].factors[0].exponent == Exponent{1, 1};
  if (is_turn) {
    const mpq_class halves = 2 * a.top[0].coefficient;
    if (auto value = cosine_of_turn(algebra, is_sine ? mpq_class(1 - halves) : halves))
      return *value;
  }
  if (is_negative(a))
    return is_sine ? negate(circular(algebra, name, negate(a)))
                   : circular(algebra, name, negate(a));
  const int cosine = algebra.atoms().number(AtomKind::function, "cos", {}, {a});
  const int number = is_sine ? algebra.atoms().number(AtomKind::function, "sin", {}, {a}) : cosine;
  if (is_sine) algebra.atoms().set_partner(number, cosine);
  return atom_form(number);
}

/// The angle if its value is a known one; for a negative argument, from the function's symmetry.
Form inverse_circular(Algebra& algebra, const std::string& name, const Form& a) {
  if (name != "arccos" && is_negative(a)) return negate(inverse_circular(algebra, name, negate(a)));
  if (name == "arccos" && is_negative(a))
    return algebra.subtract(algebra.pi(), inverse_circular(algebra, name, negate(a)));
  for (int twelfths = 0; twelfths <= 6; ++twelfths) {
    mpq_class halves(twelfths, 6);
    halves.canonicalize();
    const Form cosine = *cosine_of_turn(algebra, halves),
               sine = *cosine_of_turn(algebra, 1 - halves);
    const bool is_tangent = name == "arctan";
    if (is_tangent && is_zero(cosine)) continue;
    if (algebra.same(a, is_tangent         ? algebra.divide(sine, cosine)
                        : name == "arcsin" ? sine
                                           : cosine))
      return algebra.scale(algebra.pi(), halves / 2);
  }
  return algebra.function(name, {a});
}

Form absolute(Algebra& algebra, const Form& a) {
  if (const auto value = rational(a)) return constant(abs(*value));
  return algebra.function("abs", {is_negative(a) ? negate(a) : a});
}

Form rounded(Algebra& algebra, const std::string& name, const Form& a) {
  const auto value = rational(a);
  if (!value) return algebra.function(name, {a});
  return constant(mpq_class(name == "floor" ? floor_of(*value) : mpz_class(-floor_of(-*value))));
}

Form factorial(Algebra& algebra, const Form& a) {
  const auto value_of_a = rational(a);
  if (value_of_a && (*value_of_a < 0 || value_of_a->get_den() != 1))
    undefined("a factorial of what is no natural number");
  const auto n = small_integer(a);
  if (!n || *n > kLargestFactorial) return algebra.function("factorial", {a});
  algebra.polynomials().budget().spend(*n);
  mpz_class value;
  mpz_fac_ui(value.get_mpz_t(), unsigned(*n));
  return constant(mpq_class(value));
}

Form binomial(Algebra& algebra, const Form& n, const Form& k) {
  auto lower = small_integer(k);
  const auto upper = small_integer(n);
  if (lower && upper && *upper >= 0 && *lower > *upper / 2 && *lower <= *upper)
    lower = *upper - *lower;
  if (!lower || *lower > kLargestFactorial) return algebra.function("binomial", {n, k});
  if (*lower < 0) return constant(0);
  if (upper && *upper >= 0) {
    if (std::int64_t(*lower) * 32 > std::int64_t(kMostBits))
      exhausted("a binomial beyond what is computed exactly");
    algebra.polynomials().budget().spend(*lower);
    mpz_class value;
    mpz_bin_uiui(value.get_mpz_t(), unsigned(*upper), unsigned(*lower));
    return constant(mpq_class(value));
  }
  if (*lower > 32) return algebra.function("binomial", {n, k});
  Form product = constant(1);
  for (int j = 0; j < *lower; ++j)
    product = algebra.multiply(
        product, algebra.scale(algebra.subtract(n, constant(j)), mpq_class(1, j + 1)));
  return product;
}

}  // namespace

Form apply_function(Algebra& algebra, const std::string& name, const std::vector<Form>& arguments) {
  const Form& a = arguments.at(0);
  if (name == "sin" || name == "cos") return circular(algebra, name, a);
  if (name == "tan")
    return algebra.divide(circular(algebra, "sin", a), circular(algebra, "cos", a));
  if (name == "cot")
    return algebra.divide(circular(algebra, "cos", a), circular(algebra, "sin", a));
  if (name == "sec") return algebra.inverse(circular(algebra, "cos", a));
  if (name == "csc") return algebra.inverse(circular(algebra, "sin", a));
  if (name.starts_with("arc")) return inverse_circular(algebra, name, a);
  if (name == "cis")
    return algebra.add(circular(algebra, "cos", a),
                       algebra.multiply(algebra.i(), circular(algebra, "sin", a)));
  if (name == "ln") return logarithm(algebra, a);
  if (name == "exp") return power(algebra, algebra.e(), a);
  if (name == "abs") return absolute(algebra, a);
  if (name == "floor" || name == "ceil") return rounded(algebra, name, a);
  if (name == "factorial") return factorial(algebra, a);
  if (name == "binomial" || name == "C") return binomial(algebra, a, arguments.at(1));
  const Form up = power(algebra, algebra.e(), a),
             down = power(algebra, algebra.e(), negate(a));  // e^-a, for the hyperbolic functions
  if (name == "sinh") return algebra.scale(algebra.subtract(up, down), mpq_class(1, 2));
  if (name == "cosh") return algebra.scale(algebra.add(up, down), mpq_class(1, 2));
  if (name == "tanh") return algebra.divide(algebra.subtract(up, down), algebra.add(up, down));
  unsupported(name + " is not computed");
}

}  // namespace rollcall::reward::math
