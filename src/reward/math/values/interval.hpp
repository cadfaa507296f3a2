// Intervals that are certain to contain a number, real or complex, at a chosen precision. Rounding
// is outward and correct (MPFI over MPFR), so the bits are the same on any machine.
#pragma once

#include <gmpxx.h>
#include <mpfi.h>

#include <optional>
#include <utility>

namespace rollcall::reward::math {

class Interval {
 public:
  explicit Interval(int bits) { mpfi_init2(x_, mpfr_prec_t(bits)); }
  Interval(int bits, const mpq_class& value) : Interval(bits) { mpfi_set_q(x_, value.get_mpq_t()); }
  Interval(const Interval& other) : Interval(int(mpfi_get_prec(other.x_))) {
    mpfi_set(x_, other.x_);
  }
  Interval(Interval&& other) noexcept : Interval(2) { mpfi_swap(x_, other.x_); }
  Interval& operator=(Interval other) noexcept {
    mpfi_swap(x_, other.x_);
    return *this;
  }
  ~Interval() { mpfi_clear(x_); }

  mpfi_ptr get() { return x_; }
  mpfi_srcptr get() const { return x_; }
  int bits() const { return int(mpfi_get_prec(x_)); }
  bool has_zero() const { return mpfi_has_zero(x_) > 0; }
  bool is_finite() const { return mpfi_nan_p(x_) == 0 && mpfi_inf_p(x_) == 0; }
  bool is_positive() const { return mpfi_is_strictly_pos(x_) > 0; }
  bool is_negative() const { return mpfi_is_strictly_neg(x_) > 0; }
  /// Binary exponent that no member exceeds in absolute value; very small for [0, 0].
  long exponent() const;
  double middle() const { return mpfi_get_d(x_); }

 private:
  mpfi_t x_;
};

/// A rectangle that contains a complex number; the number is real if there is no `im`.
struct Box {
  Interval re;
  std::optional<Interval> im{};
};

Box operator+(const Box& a, const Box& b);
Box operator*(const Box& a, const Box& b);
/// The functions below return nothing if the box is not within the function's domain, or is too
/// wide to tell.
std::optional<Box> inverse(const Box& a);
std::optional<Box> power(const Box& a, std::int64_t n);
/// For an odd degree, the real root of a negative number.
std::optional<Box> root(const Box& a, unsigned long degree);
std::optional<Box> exponential(const Box& a);
/// `name` is sin, cos, arcsin, arccos, arctan, ln, abs, floor, ceil or factorial.
std::optional<Box> function(const char* name, const Box& a);

}  // namespace rollcall::reward::math
