// Arithmetic on exponents, and the simplest questions about forms.
#include "reward/math/algebra/form.hpp"

#include "reward/math/limits.hpp"

#include <limits>
#include <numeric>

namespace rollcall::reward::math {
namespace {

Exponent lowest(std::int64_t num, std::int64_t den) {
  const std::int64_t common = std::gcd(num, den);
  num /= common, den /= common;
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  if (num > kLargest || num < -kLargest || den > kLargest)
    exhausted("an exponent beyond what is computed");
  return {std::int32_t(num), std::int32_t(den)};
}

}  // namespace

Exponent operator+(Exponent a, Exponent b) {
  if (a.den == 1 && b.den == 1) return lowest(std::int64_t(a.num) + b.num, 1);
  if (a.den > 30000 || b.den > 30000) exhausted("an exponent beyond what is computed");
  return lowest(std::int64_t(a.num) * b.den + std::int64_t(b.num) * a.den,
                std::int64_t(a.den) * b.den);
}

Exponent operator*(Exponent a, Exponent b) {
  return lowest(std::int64_t(a.num) * b.num, std::int64_t(a.den) * b.den);
}

Form constant(const mpq_class& value) {
  Form form{{}, {{{}, 1}}};
  if (value != 0) form.top.push_back({{}, value});
  return form;
}

bool is_zero(const Form& form) { return form.top.empty(); }

std::optional<mpq_class> rational(const Form& form) {
  if (form.top.empty()) return mpq_class(0);
  if (form.top.size() > 1 || form.bottom.size() > 1 || !form.top[0].factors.empty())
    return std::nullopt;
  return form.top[0].coefficient;
}

std::optional<std::int32_t> small_integer(const Form& form) {
  const auto value = rational(form);
  if (!value || value->get_den() != 1 || !value->get_num().fits_sint_p()) return std::nullopt;
  return std::int32_t(value->get_num().get_si());
}

Form negate(Form a) {
  for (Term& term : a.top) term.coefficient = -term.coefficient;
  return a;
}

}  // namespace rollcall::reward::math
