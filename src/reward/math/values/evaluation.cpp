// Evaluates canonical forms in interval arithmetic.
#include "reward/math/values/evaluation.hpp"

#include <algorithm>

namespace rollcall::reward::math {

std::optional<Box> Evaluation::value(const Form& form) {
  auto top = value(form.top);
  if (!top || (form.bottom.size() == 1 && form.bottom[0].factors.empty())) return top;
  const auto bottom = value(form.bottom);
  const auto inverted = bottom ? inverse(*bottom) : std::nullopt;
  if (!inverted) return std::nullopt;
  return *top * *inverted;
}

std::optional<Box> Evaluation::value(const Poly& poly) {
  Box sum{Interval(bits_, 0), std::nullopt};
  for (const Term& term : poly) {
    Box product{Interval(bits_, term.coefficient), std::nullopt};
    budget_.spend(bits_ >> 6);
    for (const Factor& factor : term.factors) {
      const auto part = raised(factor);
      if (!part) return std::nullopt;
      product = product * *part;
    }
    note(product.re.exponent());
    sum = sum + product;
  }
  if (!sum.re.is_finite() || (real_only_ && sum.im)) return std::nullopt;
  return sum;
}

std::optional<Box> Evaluation::raised(const Factor& factor) {
  const Atom& a = atoms_[factor.atom];
  const auto [num, den] = factor.exponent;
  if (a.kind == AtomKind::power) {  // b^(c m) = exp(c m ln b)
    Form exponent = a.arguments[1];
    for (Term& term : exponent.top) {
      term.coefficient *= num;
      term.coefficient /= den;
    }
    return general_power(a.arguments[0], exponent);
  }
  auto base = atom(factor.atom);
  budget_.spend((bits_ >> 6) * (den == 1 ? 2 : 16));
  if (base && den > 1) base = root(*base, unsigned(den));
  if (base && num != 1) base = power(*base, num);
  if (base && real_only_ && base->im) return std::nullopt;
  return base;
}

std::optional<Box> Evaluation::atom(int number) {
  auto& known = known_[std::size_t(number)];
  if (!known) {
    budget_.spend((bits_ >> 6) * 16);
    auto computed = compute(atoms_[number], number);
    if (computed && real_only_ && computed->im) computed = std::nullopt;
    if (computed) note(computed->re.exponent());
    known_[std::size_t(number)] = std::move(computed);
  }
  return *known_[std::size_t(number)];
}

std::optional<Box> Evaluation::compute(const Atom& a, int number) {
  switch (a.kind) {
    case AtomKind::variable: {
      const auto place = point_.find(number);
      if (place == point_.end()) return std::nullopt;
      return Box{Interval(bits_, place->second), std::nullopt};
    }
    case AtomKind::pi: {
      Interval pi(bits_);
      mpfi_const_pi(pi.get());
      return Box{pi, std::nullopt};
    }
    case AtomKind::e: return exponential({Interval(bits_, 1), std::nullopt});
    case AtomKind::i: return Box{Interval(bits_, 0), Interval(bits_, 1)};
    case AtomKind::prime: return Box{Interval(bits_, mpq_class(a.base)), std::nullopt};
    case AtomKind::logarithm:
      return function("ln", {Interval(bits_, mpq_class(a.base)), std::nullopt});
    case AtomKind::root: return value(a.arguments[0]);
    case AtomKind::power: return std::nullopt;  // raised() computes it with its exponent
    case AtomKind::function: break;
  }
  if (a.name == "power") return general_power(a.arguments[0], a.arguments[1]);
  const auto argument = value(a.arguments[0]);
  if (!argument) return std::nullopt;
  if (a.name == "root") {
    const auto degree = small_integer(a.arguments[1]);
    return degree ? root(*argument, unsigned(*degree)) : std::nullopt;
  }
  if (a.name == "binomial") {  // at natural numbers, from factorials
    const auto k = value(a.arguments[1]);
    if (!k) return std::nullopt;
    const Box rest = *argument + *k * Box{Interval(bits_, -1), std::nullopt};
    const auto n_factorial = function("factorial", *argument),
               k_factorial = function("factorial", *k),
               rest_factorial = function("factorial", rest);
    const auto below =
        k_factorial && rest_factorial ? inverse(*k_factorial * *rest_factorial) : std::nullopt;
    if (!n_factorial || !below) return std::nullopt;
    return *n_factorial * *below;
  }
  return function(a.name.c_str(), *argument);
}

std::optional<Box> Evaluation::general_power(const Form& base, const Form& exponent) {
  budget_.spend((bits_ >> 6) * 32);
  const auto b = value(base);
  if (!b) return std::nullopt;
  const auto whole = rational(exponent);
  if (whole && whole->get_den() == 1 && whole->get_num().fits_slong_p())
    return power(*b, whole->get_num().get_si());
  const auto x = value(exponent);
  const auto logarithm = function("ln", *b);
  if (!x || !logarithm) return std::nullopt;
  if (b->re.is_negative() && !b->im && mpfr_equal_p(&x->re.get()->left, &x->re.get()->right) != 0 &&
      mpfr_integer_p(&x->re.get()->left) != 0 && x->re.exponent() < 40)
    return power(*b, mpfr_get_si(&x->re.get()->left, MPFR_RNDN));  // (-1)^n at whole n
  return exponential(*x * *logarithm);
}

}  // namespace rollcall::reward::math
