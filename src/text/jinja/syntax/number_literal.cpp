// Finds the end of a number, then passes its digits without underscores to the standard library.
#include "text/jinja/syntax/number_literal.hpp"

#include <charconv>
#include <cstdlib>
#include <string>

namespace rollcall::text::jinja {
namespace {

/// The end of the digits in base `base` from position `i` on, with single underscores between them;
/// `i` if there is no digit. `underscore_first`: an underscore may come before the first digit.
std::size_t end_of_digits(std::string_view s, std::size_t i, int base,
                          bool underscore_first = false) {
  const auto is_one = [&](std::size_t k) {
    if (k >= s.size()) return false;
    const char c = s[k];
    const int value = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : 99;
    return value < base;
  };
  if (underscore_first && i < s.size() && s[i] == '_' && is_one(i + 1)) ++i;
  if (!is_one(i)) return i;
  while (is_one(i) || (i < s.size() && s[i] == '_' && is_one(i + 1))) ++i;
  return i;
}

/// The end of a decimal number that begins with 0. It is 0, and other digits begin the next token.
std::size_t end_of_zeros(std::string_view s) {
  std::size_t n = 1;
  while (n < s.size() && (s[n] == '0' || (s[n] == '_' && n + 1 < s.size() && s[n + 1] == '0'))) ++n;
  return n;
}

std::string without_underscores(std::string_view digits) {
  std::string s(digits);
  std::erase(s, '_');
  return s;
}

/// The end of the number's fraction and exponent; `whole`, where its integer part ends, if it has
/// neither.
std::size_t end_of_real(std::string_view s, std::size_t whole) {
  std::size_t end = whole;
  if (end < s.size() && s[end] == '.') {
    if (const std::size_t fraction = end_of_digits(s, end + 1, 10); fraction > end + 1)
      end = fraction;
  }
  if (end < s.size() && (s[end] == 'e' || s[end] == 'E')) {
    const std::size_t sign = end + 1 < s.size() && (s[end + 1] == '+' || s[end + 1] == '-') ? 1 : 0;
    if (const std::size_t exponent = end_of_digits(s, end + 1 + sign, 10);
        exponent > end + 1 + sign)
      end = exponent;
  }
  return end;
}

NumberLiteral integer_literal(std::string_view s, std::size_t end) {
  int base = 10;
  std::size_t begin = 0;
  if (s[0] == '0') {
    const char letter = s.size() > 1 ? char(s[1] | 0x20) : ' ';
    const int other = letter == 'b' ? 2 : letter == 'o' ? 8 : letter == 'x' ? 16 : 0;
    if (const std::size_t n = other != 0 ? end_of_digits(s, 2, other, true) : 0; n > 2) {
      base = other;
      begin = 2;
      end = n;
    } else {
      end = end_of_zeros(s);
    }
  }
  NumberLiteral literal{.length = end};
  const std::string digits = without_underscores(s.substr(begin, end - begin));
  literal.too_large =
      std::from_chars(digits.data(), digits.data() + digits.size(), literal.integer, base).ec !=
      std::errc();
  return literal;
}

}  // namespace

NumberLiteral number_literal(std::string_view source, bool after_point) {
  const std::size_t whole = end_of_digits(source, 0, 10);
  const std::size_t end = end_of_real(source, whole);
  if (end == whole || after_point) return integer_literal(source, whole);
  const std::string digits = without_underscores(source.substr(0, end));
  NumberLiteral literal{.length = end, .is_real = true};
  literal.real = std::strtod(digits.c_str(), nullptr);
  return literal;
}

}  // namespace rollcall::text::jinja
