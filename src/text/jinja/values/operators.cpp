// Arithmetic on integers, doubles, strings and lists. Integers beyond 64 bits are refused.
#include "text/jinja/values/operators.hpp"

#include "text/jinja/values/python_text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace rollcall::text::jinja {
namespace {

constexpr const char* kSymbols[] = {
    "+", "-", "*", "/", "//", "%", "** or pow()", "==", "!=", "<", "<=", ">", ">=", "in", "not in"};

[[noreturn]] void fail_types(Operator op, const Value& a, const Value& b) {
  fail(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", kSymbols[int(op)],
                   type_name(a), type_name(b)));
}
[[noreturn]] void fail_range() { fail_unsupported("a whole number beyond 64 bits"); }
[[noreturn]] void fail_zero() { fail("division by zero"); }

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) fail_range();
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) fail_range();
  }
  return result;
}

/// The quotient of two integers, rounded only once, as in Python.
double true_quotient(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kExact = std::int64_t(1) << 53;  // doubles are exact up to here
  if (a > -kExact && a < kExact && b > -kExact && b < kExact) return double(a) / double(b);
  fail_unsupported("a quotient of whole numbers beyond 2^53");
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (a == INT64_MIN && b == -1) fail_range();
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}

Value whole_operation(Operator op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case Operator::add:
      if (__builtin_add_overflow(a, b, &result)) fail_range();
      return integer(result);
    case Operator::subtract:
      if (__builtin_sub_overflow(a, b, &result)) fail_range();
      return integer(result);
    case Operator::multiply:
      if (__builtin_mul_overflow(a, b, &result)) fail_range();
      return integer(result);
    case Operator::power:
      if (b >= 0) return integer(power(a, b));
      if (a == 0) fail("0.0 cannot be raised to a negative power");
      return real(std::pow(double(a), double(b)));
    default: break;
  }
  if (b == 0) fail_zero();
  if (op == Operator::divide) return real(true_quotient(a, b));
  if (op == Operator::floor_divide) return integer(floor_quotient(a, b));
  if (b == -1) return integer(0);
  return integer(a % b + (a % b != 0 && ((a < 0) != (b < 0)) ? b : 0));
}

/// Quotient and remainder as in CPython's float_divmod. The remainder has the divisor's sign, and
/// the quotient is made a whole number.
std::pair<double, double> floor_divmod(double a, double b) {
  double mod = std::fmod(a, b), div = (a - mod) / b;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) {
      mod += b;
      div -= 1;
    }
  } else {
    mod = std::copysign(0.0, b);
  }
  if (div == 0) return {std::copysign(0.0, a / b), mod};
  const double floor = std::floor(div);
  return {div - floor > 0.5 ? floor + 1 : floor, mod};
}

double real_power(double a, double b) {
  if (a == 0 && b < 0) fail("0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b))
    fail_unsupported("a complex number");
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b))
    fail("(34, 'Numerical result out of range')");
  return result;
}

Value real_operation(Operator op, double a, double b) {
  switch (op) {
    case Operator::add: return real(a + b);
    case Operator::subtract: return real(a - b);
    case Operator::multiply: return real(a * b);
    case Operator::power: return real(real_power(a, b));
    default: break;
  }
  if (b == 0) fail_zero();
  if (op == Operator::divide) return real(a / b);
  const auto [div, mod] = floor_divmod(a, b);
  return real(op == Operator::floor_divide ? div : mod);
}

double as_real(const Value& value) {
  return value.is(Kind::real) ? value.real : double(value.whole());
}

Value joined_text(Context& context, const Value& a, const Value& b) {
  context.budget.check(std::int64_t(a.text().size() + b.text().size()));
  if (a.safe == b.safe) return string(context.budget, a.text() + b.text(), a.safe);
  return string(context.budget,
                (a.safe ? a.text() : escape_html(context.budget, a.text())) +
                    (b.safe ? b.text() : escape_html(context.budget, b.text())),
                true);
}

Value repeated(Context& context, const Value& value, std::int64_t count) {
  count = std::max<std::int64_t>(count, 0);
  const bool is_text = value.is(Kind::string);
  const auto size =
      std::int64_t(is_text ? value.text().size() : value.items().size() * sizeof(Value));
  if (size > 0 && count > context.budget.bytes / size) context.budget.check(INT64_MAX);
  context.budget.work(size * count);
  std::string text;
  std::vector<Value> items;
  for (std::int64_t i = 0; size > 0 && i < count; ++i) {
    if (is_text) text += value.text();
    else items.insert(items.end(), value.items().begin(), value.items().end());
  }
  if (is_text) return string(context.budget, std::move(text), value.safe);
  return value.is(Kind::list) ? list(context.budget, std::move(items))
                              : tuple(context.budget, std::move(items));
}

Value joined_items(Context& context, const Value& a, const Value& b) {
  context.budget.check(std::int64_t((a.items().size() + b.items().size()) * sizeof(Value)));
  std::vector<Value> items = a.items();
  items.insert(items.end(), b.items().begin(), b.items().end());
  return a.is(Kind::list) ? list(context.budget, std::move(items))
                          : tuple(context.budget, std::move(items));
}

bool is_repeatable(const Value& value) {
  return value.is(Kind::string) || value.is(Kind::list) || value.is(Kind::tuple);
}

void refuse_undefined(const Value& value) {
  if (value.is(Kind::undefined)) fail(value.as<Undefined>().message);
}

}  // namespace

Value binary(Context& context, Operator op, const Value& a, const Value& b) {
  context.budget.step();
  if (op == Operator::modulo && a.is(Kind::string))
    return string(context.budget, percent_format(context, a, b));
  refuse_undefined(a);
  refuse_undefined(b);
  if (a.is_number() && b.is_number()) {
    return a.is_whole() && b.is_whole() ? whole_operation(op, a.whole(), b.whole())
                                        : real_operation(op, as_real(a), as_real(b));
  }
  if (op == Operator::add && a.is(Kind::string) && b.is(Kind::string))
    return joined_text(context, a, b);
  if (op == Operator::add && a.kind == b.kind && (a.is(Kind::list) || a.is(Kind::tuple)))
    return joined_items(context, a, b);
  if (op == Operator::multiply && is_repeatable(a) && b.is_whole())
    return repeated(context, a, b.whole());
  if (op == Operator::multiply && is_repeatable(b) && a.is_whole())
    return repeated(context, b, a.whole());
  if (op == Operator::subtract && a.is(Kind::view) && a.as<View>().what != ViewOf::values)
    fail_unsupported("a set");
  fail_types(op, a, b);
}

Value negative(const Value& a) {
  refuse_undefined(a);
  if (a.is(Kind::real)) return real(-a.real);
  if (!a.is_whole()) fail(fmt::format("bad operand type for unary -: '{}'", type_name(a)));
  if (a.whole() == INT64_MIN) fail_range();
  return integer(-a.whole());
}

Value positive(const Value& a) {
  refuse_undefined(a);
  if (!a.is_number()) fail(fmt::format("bad operand type for unary +: '{}'", type_name(a)));
  return a.is(Kind::real) ? a : integer(a.whole());
}

std::int64_t to_whole(double value) {
  if (std::isnan(value)) fail("cannot convert float NaN to integer");
  if (std::isinf(value)) fail("cannot convert float infinity to integer");
  if (value >= 9223372036854775808.0 || value < -9223372036854775808.0) fail_range();  // 2^63
  return std::int64_t(value);
}

}  // namespace rollcall::text::jinja
