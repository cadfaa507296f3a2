// Writes digits, signs, marks between digit groups, and padding.
#include "text/jinja/values/number_format.hpp"

#include "text/jinja/values/characters.hpp"
#include "text/jinja/values/python_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace rollcall::text::jinja {
namespace {

// The largest precision, which exceeds the number of digits of a double.
constexpr std::int64_t kMostDigits = 1000;

std::string sign_of(bool negative, char sign) {
  return negative ? "-" : sign == '+' ? "+" : sign == ' ' ? " " : "";
}

/// The digits before the point with marks between their groups. Zeros that fill the width belong to
/// the groups. `others`: characters of the number that are not among these digits.
std::string grouped(std::string digits, const FormatSpec& spec, std::size_t others) {
  const std::size_t every =
      spec.type == 'b' || spec.type == 'o' || spec.type == 'x' || spec.type == 'X' ? 4 : 3;
  const bool zeros = spec.fill == "0" && spec.align == '=';
  std::string out;
  std::size_t count = 0;
  for (std::size_t i = digits.size();
       i > 0 || (zeros && std::int64_t(out.size() + others) < spec.width);) {
    if (count > 0 && count % every == 0) out += spec.grouping;
    out += i > 0 ? digits[--i] : '0';
    ++count;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::string whole_digits(std::uint64_t value, char type) {
  switch (type) {
    case 'b': return fmt::format("{:b}", value);
    case 'o': return fmt::format("{:o}", value);
    case 'x': return fmt::format("{:x}", value);
    case 'X': return fmt::format("{:X}", value);
    default: return std::to_string(value);
  }
}

/// The digits of a number without its sign.
std::string real_digits(double value, const FormatSpec& spec) {
  if (!std::isfinite(value)) {
    const bool capital = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
    return std::string(std::isnan(value) ? (capital ? "NAN" : "nan")
                       : capital         ? "INF"
                                         : "inf") +
           (spec.type == '%' ? "%" : "");
  }
  if (spec.precision > kMostDigits) fail_unsupported("a precision of more than 1000 digits");
  const int precision = spec.precision < 0 ? 6 : int(spec.precision);
  char buffer[2048];
  if (spec.type == 0 && spec.precision < 0) return repr_real(value);
  if (spec.type == '%') {
    std::snprintf(buffer, sizeof buffer, spec.alternate ? "%#.*f%%" : "%.*f%%", precision,
                  value * 100);
  } else {
    const char type = spec.type == 0 ? 'g' : spec.type;
    const char format[] = {'%', spec.alternate ? '#' : '0', '.', '*', type, 0};
    std::snprintf(buffer, sizeof buffer, format,
                  type == 'g' || type == 'G' ? std::max(precision, 1) : precision, value);
  }
  std::string out = buffer;
  // Python's format without a type is like g, but keeps one decimal, and changes to an exponent one
  // digit earlier.
  if (spec.type == 0 && out.find_first_of(".e") == std::string::npos) {
    if (int(out.size()) >= std::max(precision, 1)) {
      std::snprintf(buffer, sizeof buffer, "%.*e", std::max(precision, 1) - 1, value);
      return buffer;
    }
    out += ".0";
  }
  return out;
}

}  // namespace

std::string padded(Budget& budget, std::string text, const FormatSpec& spec, char default_align,
                   std::size_t sign_length) {
  const auto length = std::int64_t(character_count(text));
  if (spec.width <= length) return text;
  const std::int64_t missing = spec.width - length;
  if (missing > budget.bytes / 4) budget.check(INT64_MAX);
  budget.work(missing);
  const char align = spec.align ? spec.align : default_align;
  const std::int64_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  const auto fill = [&](std::int64_t n) {
    std::string s;
    for (std::int64_t i = 0; i < n; ++i) s += spec.fill;
    return s;
  };
  if (align == '=') return text.substr(0, sign_length) + fill(missing) + text.substr(sign_length);
  return fill(left) + text + fill(missing - left);
}

std::string format_whole(Budget& budget, std::int64_t value, const FormatSpec& spec) {
  if (spec.precision >= 0) fail("Precision not allowed in integer format specifier");
  if (spec.type == 'c') {
    if (value < 0 || value > 0x10FFFF) fail("%c arg not in range(0x110000)");
    if (value >= 0xD800 && value < 0xE000) fail_unsupported("a lone surrogate");
    std::string text;
    append_character(text, char32_t(value));
    return padded(budget, text, spec, '<');
  }
  const std::uint64_t size = value < 0 ? 0 - std::uint64_t(value) : std::uint64_t(value);
  std::string prefix = sign_of(value < 0, spec.sign);
  if (spec.alternate && std::strchr("boxX", spec.type) && spec.type) prefix += {'0', spec.type};
  std::string digits = whole_digits(size, spec.type);
  if (spec.grouping) {
    if (spec.width > budget.bytes / 4) budget.check(INT64_MAX);
    budget.look(spec.width);
    digits = grouped(std::move(digits), spec, prefix.size());
  }
  return padded(budget, prefix + digits, spec, '>', prefix.size());
}

std::string format_real(Budget& budget, double value, const FormatSpec& spec) {
  const std::string sign = sign_of(std::signbit(value) && !std::isnan(value), spec.sign);
  std::string digits = real_digits(std::abs(value), spec);
  if (spec.grouping && std::isfinite(value)) {
    if (spec.width > budget.bytes / 4) budget.check(INT64_MAX);
    budget.look(spec.width);
    const std::size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
    digits = grouped(digits.substr(0, whole), spec, sign.size() + digits.size() - whole) +
             digits.substr(whole);
  }
  return padded(budget, sign + digits, spec, '>', sign.size());
}

std::string format_text(Budget& budget, std::string_view text, const FormatSpec& spec) {
  budget.work(std::int64_t(text.size()));
  if (spec.precision >= 0) text = text.substr(0, offset_of(text, std::size_t(spec.precision)));
  return padded(budget, std::string(text), spec, '<');
}

}  // namespace rollcall::text::jinja
