// Exact fractions of 64-bit integers. An operation returns nothing instead of a wrong number if its
// result would not fit.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace rollcall::reward {

/// A fraction in lowest terms with a positive denominator, so equal values have equal members.
struct Rational {
  std::int64_t numerator = 0, denominator = 1;
  bool operator==(const Rational&) const = default;
  std::string text() const {
    return denominator == 1 ? std::to_string(numerator)
                            : std::to_string(numerator) + "/" + std::to_string(denominator);
  }
};

namespace detail {
/// The fraction in lowest terms; nothing if it does not fit. Members of a Rational are within
/// +-(2^63 - 1), so 128-bit cross products and their sums are exact.
inline std::optional<Rational> reduced(__int128 numerator, __int128 denominator) {
  if (denominator == 0) return std::nullopt;
  __int128 a = numerator < 0 ? -numerator : numerator,
           b = denominator < 0 ? -denominator : denominator;
  while (b != 0) a = std::exchange(b, a % b);
  const __int128 sign = denominator < 0 ? -1 : 1, n = sign * numerator / a,
                 d = sign * denominator / a;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (n > kMost || n < -kMost || d > kMost) return std::nullopt;
  return Rational{std::int64_t(n), std::int64_t(d)};
}
}  // namespace detail

/// a op b for op in + - * /; nothing on overflow and for a division by zero.
inline std::optional<Rational> apply(const Rational& a, char op, const Rational& b) {
  const __int128 an = a.numerator, ad = a.denominator, bn = b.numerator, bd = b.denominator;
  switch (op) {
    case '+': return detail::reduced(an * bd + bn * ad, ad * bd);
    case '-': return detail::reduced(an * bd - bn * ad, ad * bd);
    case '*': return detail::reduced(an * bn, ad * bd);
    case '/': return detail::reduced(an * bd, ad * bn);
    default: return std::nullopt;
  }
}

}  // namespace rollcall::reward
