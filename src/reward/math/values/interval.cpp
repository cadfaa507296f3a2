// Interval arithmetic that MPFI itself lacks.
#include "reward/math/values/interval.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace rollcall::reward::math {
namespace {

constexpr long kLargestExponent = 1L << 40;  // largest exponent of a result that is used further
// largest binary exponent of an angle that is reduced to one turn
constexpr long kLargestAngle = 4096;
constexpr unsigned kLargestFactorial = 2000;

mpfr_srcptr left(const Interval& x) { return &x.get()->left; }
mpfr_srcptr right(const Interval& x) { return &x.get()->right; }

template <class Operation>
Interval made(const Interval& a, const Interval& b, Operation operation) {
  Interval result(a.bits());
  operation(result.get(), a.get(), b.get());
  return result;
}
template <class Operation>
Interval made(const Interval& a, Operation operation) {
  Interval result(a.bits());
  operation(result.get(), a.get());
  return result;
}

Interval zero(int bits) { return Interval(bits, 0); }
Interval imaginary(const Box& a) { return a.im ? *a.im : zero(a.re.bits()); }

std::optional<Box> checked(Box box) {
  if (!box.re.is_finite() || box.re.exponent() > kLargestExponent) return std::nullopt;
  if (box.im && (!box.im->is_finite() || box.im->exponent() > kLargestExponent))
    return std::nullopt;
  return box;
}

/// The whole number to which both ends round; nothing if they round to different ones.
std::optional<Box> rounded(const Interval& x, mpfr_rnd_t rounding) {
  if (x.exponent() > 4096) return std::nullopt;
  mpz_class low, high;
  mpfr_get_z(low.get_mpz_t(), left(x), rounding);
  mpfr_get_z(high.get_mpz_t(), right(x), rounding);
  if (low != high) return std::nullopt;
  return Box{Interval(x.bits(), mpq_class(low)), std::nullopt};
}

std::optional<Box> factorial(const Interval& x) {
  if (mpfr_equal_p(left(x), right(x)) == 0 || mpfr_integer_p(left(x)) == 0 ||
      mpfr_sgn(left(x)) < 0 || mpfr_cmp_ui(left(x), kLargestFactorial) > 0)
    return std::nullopt;
  mpz_class value;
  mpz_fac_ui(value.get_mpz_t(), mpfr_get_ui(left(x), MPFR_RNDN));
  return Box{Interval(x.bits(), mpq_class(value)), std::nullopt};
}

}  // namespace

long Interval::exponent() const {
  long largest = std::numeric_limits<long>::min() / 2;
  for (mpfr_srcptr end : {&x_->left, &x_->right}) {
    if (mpfr_regular_p(end) != 0) largest = std::max(largest, long(mpfr_get_exp(end)));
    else if (mpfr_zero_p(end) == 0) largest = std::numeric_limits<long>::max();
  }
  return largest;
}

Box operator+(const Box& a, const Box& b) {
  Box sum{made(a.re, b.re, mpfi_add), std::nullopt};
  if (a.im || b.im) sum.im = made(imaginary(a), imaginary(b), mpfi_add);
  return sum;
}

Box operator*(const Box& a, const Box& b) {
  if (!a.im && !b.im) return {made(a.re, b.re, mpfi_mul), std::nullopt};
  const Interval ai = imaginary(a), bi = imaginary(b);
  return {made(made(a.re, b.re, mpfi_mul), made(ai, bi, mpfi_mul), mpfi_sub),
          made(made(a.re, bi, mpfi_mul), made(ai, b.re, mpfi_mul), mpfi_add)};
}

std::optional<Box> inverse(const Box& a) {
  if (!a.im) {
    if (a.re.has_zero()) return std::nullopt;
    return checked({made(a.re, mpfi_inv), std::nullopt});
  }
  const Interval size = made(made(a.re, mpfi_sqr), made(*a.im, mpfi_sqr), mpfi_add);
  if (size.has_zero()) return std::nullopt;
  return checked({made(a.re, size, mpfi_div), made(made(*a.im, mpfi_neg), size, mpfi_div)});
}

std::optional<Box> power(const Box& a, std::int64_t n) {
  if (n < 0) {
    const auto inverted = inverse(a);
    return inverted ? power(*inverted, -n) : std::nullopt;
  }
  std::optional<Box> result = Box{Interval(a.re.bits(), 1), std::nullopt}, square = a;
  for (; n > 0; n >>= 1) {
    if ((n & 1) != 0) result = checked(*result * *square);
    if (!result) return std::nullopt;
    if (n > 1)
      square =
          checked(square->im ? *square * *square : Box{made(square->re, mpfi_sqr), std::nullopt});
    if (!square) return std::nullopt;
  }
  return result;
}

std::optional<Box> root(const Box& a, unsigned long degree) {
  if (a.im) {  // the principal square root: sqrt((|z| + re) / 2) + i sign(im) sqrt((|z| - re) / 2)
    if (degree != 2 || a.im->has_zero()) return std::nullopt;
    const Interval size =
        made(made(made(a.re, mpfi_sqr), made(*a.im, mpfi_sqr), mpfi_add), mpfi_sqrt);
    const auto half_root = [](const Interval& twice) {
      Interval half(twice.bits());
      mpfi_div_ui(half.get(), twice.get(), 2);
      return root(Box{half, std::nullopt}, 2);
    };
    auto re = half_root(made(size, a.re, mpfi_add)), im = half_root(made(size, a.re, mpfi_sub));
    if (!re || !im || re->im || im->im) return std::nullopt;
    if (a.im->is_negative()) im->re = made(im->re, mpfi_neg);
    return Box{re->re, im->re};
  }
  if (degree % 2 == 0 && a.re.is_negative() && degree == 2) {
    auto of_size = root({made(a.re, mpfi_neg), std::nullopt}, 2);
    if (!of_size) return std::nullopt;
    return Box{zero(a.re.bits()), of_size->re};
  }
  if (degree % 2 == 0 && mpfr_sgn(left(a.re)) < 0) return std::nullopt;
  Interval result(a.re.bits());
  mpfr_rootn_ui(&result.get()->left, left(a.re), degree, MPFR_RNDD);
  mpfr_rootn_ui(&result.get()->right, right(a.re), degree, MPFR_RNDU);
  return checked({result, std::nullopt});
}

std::optional<Box> exponential(const Box& a) {
  if (a.re.exponent() > 40) return std::nullopt;
  const Interval size = made(a.re, mpfi_exp);
  if (!a.im) return checked({size, std::nullopt});
  if (a.im->exponent() > kLargestAngle) return std::nullopt;
  return checked(
      {made(size, made(*a.im, mpfi_cos), mpfi_mul), made(size, made(*a.im, mpfi_sin), mpfi_mul)});
}

std::optional<Box> function(const char* name, const Box& a) {
  const std::string_view called = name;
  if (called == "abs" && a.im)
    return checked({made(made(made(a.re, mpfi_sqr), made(*a.im, mpfi_sqr), mpfi_add), mpfi_sqrt),
                    std::nullopt});
  if (a.im) return std::nullopt;
  if (called == "abs") return Box{made(a.re, mpfi_abs), std::nullopt};
  if (called == "floor" || called == "ceil")
    return rounded(a.re, called == "floor" ? MPFR_RNDD : MPFR_RNDU);
  if (called == "factorial") return factorial(a.re);
  if (called == "ln") {
    if (a.re.is_positive()) return checked({made(a.re, mpfi_log), std::nullopt});
    if (!a.re.is_negative()) return std::nullopt;
    Interval half_turn(a.re.bits());
    mpfi_const_pi(half_turn.get());
    return checked({made(made(a.re, mpfi_neg), mpfi_log), half_turn});
  }
  if (called == "arctan") return checked({made(a.re, mpfi_atan), std::nullopt});
  if (called == "arcsin" || called == "arccos") {
    if (mpfr_cmp_si(left(a.re), -1) < 0 || mpfr_cmp_si(right(a.re), 1) > 0) return std::nullopt;
    return checked({made(a.re, called == "arcsin" ? mpfi_asin : mpfi_acos), std::nullopt});
  }
  if ((called != "sin" && called != "cos") || a.re.exponent() > kLargestAngle) return std::nullopt;
  return checked({made(a.re, called == "sin" ? mpfi_sin : mpfi_cos), std::nullopt});
}

}  // namespace rollcall::reward::math
