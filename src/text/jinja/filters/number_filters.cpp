// Filters that return numbers.
#include "text/jinja/filter_rows.hpp"
#include "text/jinja/values/number_text.hpp"
#include "text/jinja/values/operators.hpp"

#include <fmt/format.h>

#include <cmath>

namespace rollcall::text::jinja {
namespace {

void refuse_undefined(const Value& value) {
  if (value.is(Kind::undefined)) fail(value.as<Undefined>().message);
}

Value absolute(Call& call) {
  refuse_undefined(call.self);
  if (call.self.is(Kind::real)) return real(std::abs(call.self.real));
  if (!call.self.is_whole())
    fail(fmt::format("bad operand type for abs(): '{}'", type_name(call.self)));
  return call.self.whole() < 0 ? negative(call.self) : integer(call.self.whole());
}

std::optional<double> as_real(const Value& value) {
  refuse_undefined(value);
  if (value.is(Kind::real)) return value.real;
  if (value.is_whole()) return double(value.whole());
  return value.is(Kind::string) ? real_of(value.text()) : std::nullopt;
}

Value to_int(Call& call) {
  const Value fallback = call.has(0) ? call[0] : integer(0);
  const Value& value = call.self;
  const std::int64_t base = call.has(1) ? whole_argument(call[1]) : 10;
  if (value.is_whole()) return integer(value.whole());
  if (value.is(Kind::real))
    return std::isnan(value.real) ? fallback : integer(to_whole(value.real));
  if (value.is(Kind::string)) {
    call.budget().look(4 * std::int64_t(value.text().size()));
    if (const auto whole = whole_of(value.text(), base)) return integer(*whole);
  }
  const auto number = as_real(value);
  return number && std::isfinite(*number) ? integer(to_whole(*number)) : fallback;
}

Value to_float(Call& call) {
  if (call.self.is(Kind::string)) call.budget().look(4 * std::int64_t(call.self.text().size()));
  const auto number = as_real(call.self);
  return number ? real(*number) : call.has(0) ? call[0] : real(0);
}

/// 10 to the power of the precision, which is an integer unless the precision is negative.
Value power_of_ten(Call& call, std::int64_t precision) {
  return binary(call.context, Operator::power, integer(10), integer(precision));
}

Value rounded_whole(std::int64_t value, std::int64_t precision) {
  if (precision >= 0) return integer(value);
  if (precision < -18) return integer(0);
  std::int64_t unit = 1;
  for (std::int64_t i = 0; i < -precision; ++i) unit *= 10;
  const std::int64_t rest = ((value % unit) + unit) % unit, half = unit / 2;
  // The difference value - rest, which would be a multiple of unit, could exceed 64 bits.
  const std::int64_t units = value / unit - (value < 0 && rest != 0 ? 1 : 0);
  std::int64_t result = 0;
  if (__builtin_mul_overflow(rest > half || (rest == half && units % 2 != 0) ? units + 1 : units,
                             unit, &result))
    fail_unsupported("a whole number beyond 64 bits");
  return integer(result);
}

Value rounded(Call& call) {
  refuse_undefined(call.self);
  const std::int64_t precision = call.has(0) ? whole_argument(call[0]) : 0;
  const std::string method = call.has(1) ? text_argument(call[1], "method") : "common";
  if (method != "common" && method != "ceil" && method != "floor")
    fail("method must be common, ceil or floor");
  if (!call.self.is_number())
    fail(fmt::format("type {} doesn't define __round__ method", type_name(call.self)));
  if (method != "common") {
    const Value scaled =
        binary(call.context, Operator::multiply, call.self, power_of_ten(call, precision));
    const double whole = scaled.is(Kind::real) ? scaled.real : double(scaled.whole());
    const Value edge =
        scaled.is(Kind::real)
            ? integer(to_whole(method == "ceil" ? std::ceil(whole) : std::floor(whole)))
            : integer(scaled.whole());
    return binary(call.context, Operator::divide, edge, power_of_ten(call, precision));
  }
  if (call.self.is_whole()) return rounded_whole(call.self.whole(), precision);
  return real(rounded_real(call.self.real, precision));
}

/// A size in bytes with a binary or decimal prefix, such as "1.0 kB".
Value filesizeformat(Call& call) {
  const auto number = as_real(call.self);
  if (!number) fail("filesizeformat wants a number");
  const bool binary_units = call.has(0) && is_true(call.budget(), call[0]);
  const double base = binary_units ? 1024 : 1000;
  if (*number == 1) return string(call.budget(), "1 Byte");
  if (*number < base) return string(call.budget(), fmt::format("{} Bytes", to_whole(*number)));
  double unit = base * base;
  const char* letters = binary_units ? "KMGTPEZY" : "kMGTPEZY";
  for (; letters[1] && *number >= unit; ++letters) unit *= base;
  return string(call.budget(), fmt::format("{:.1f} {}{}", base * *number / unit, *letters,
                                           binary_units ? "iB" : "B"));
}

Value count(Call& call) { return integer(length(call.self)); }

constexpr Row kFilters[] = {
    {"abs", "", absolute},
    {"count", "", count},
    {"filesizeformat", "binary", filesizeformat},
    {"float", "default", to_float},
    {"int", "default base", to_int},
    {"length", "", count},
    {"round", "precision method", rounded},
};

}  // namespace

std::span<const Row> number_filters() { return kFilters; }

}  // namespace rollcall::text::jinja
