// Accepts digits of any script, underscores between digits, and white space around a number.
#include "text/jinja/values/number_text.hpp"

#include "text/jinja/fault.hpp"
#include "text/jinja/values/characters.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

namespace rollcall::text::jinja {
namespace {

/// The text without white space around it, and with ASCII digits in place of digits of other
/// scripts.
std::string plain(std::string_view text) {
  text = strip_left(strip_right(text));
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c >= 0x80 && decimal_value(c) >= 0) out += char('0' + decimal_value(c));
    else append_character(out, c);
  }
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Removes underscores. Returns false if one is not between two digits.
bool drop_underscores(std::string& s) {
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '_') continue;
    const auto is_part = [&](std::size_t k) {
      return k < s.size() && std::isalnum(static_cast<unsigned char>(s[k]));
    };
    if (i == 0 || !is_part(i - 1) || !is_part(i + 1)) return false;
  }
  std::erase(s, '_');
  return true;
}

/// Whether the text is [digits][.digits][e[sign]digits] with at least one digit before the
/// exponent.
bool is_decimal(std::string_view s) {
  const auto digits = [&] {
    std::size_t n = 0;
    while (n < s.size() && is_digit(s[n])) ++n;
    s.remove_prefix(n);
    return n;
  };
  std::size_t n = digits();
  if (s.starts_with('.')) {
    s.remove_prefix(1);
    n += digits();
  }
  if (n == 0) return false;
  if (!s.empty() && (s.front() == 'e' || s.front() == 'E')) {
    s.remove_prefix(1);
    if (!s.empty() && (s.front() == '+' || s.front() == '-')) s.remove_prefix(1);
    if (digits() == 0) return false;
  }
  return s.empty();
}

}  // namespace

std::optional<std::int64_t> whole_of(std::string_view text, std::int64_t base) {
  std::string s = plain(text);
  if (base != 0 && (base < 2 || base > 36)) return std::nullopt;
  const bool negative = s.starts_with('-');
  if (negative || s.starts_with('+')) s.erase(0, 1);
  const char letter = s.size() > 1 && s[0] == '0' ? char(s[1] | 0x20) : ' ';
  const int prefix = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  if (prefix && (base == 0 || base == prefix)) {
    s.erase(0, s.size() > 2 && s[2] == '_' ? 3 : 2);
    base = prefix;
  } else if (base == 0) {
    base = 10;
    if (s.size() > 1 && s[0] == '0' && s.find_first_not_of("0_") != std::string::npos)
      return std::nullopt;
  }
  if (!drop_underscores(s) || s.empty() || s[0] == '-' || s[0] == '+') return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, int(base));
  if (end != s.data() + s.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range ||
      value > std::uint64_t(INT64_MAX) + (negative ? 1 : 0))
    fail_unsupported("a whole number beyond 64 bits");
  if (error != std::errc()) return std::nullopt;
  return std::int64_t(negative ? 0 - value : value);
}

std::optional<double> real_of(std::string_view text) {
  std::string s = plain(text);
  std::string body = s.starts_with('-') || s.starts_with('+') ? s.substr(1) : s;
  std::string word = body;
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c | 0x20) : c; });
  const double sign = s.starts_with('-') ? -1 : 1;
  if (word == "inf" || word == "infinity") return sign * INFINITY;
  if (word == "nan") return std::copysign(NAN, sign);
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '_' &&
        (i == 0 || i + 1 == body.size() || !is_digit(body[i - 1]) || !is_digit(body[i + 1])))
      return std::nullopt;
  }
  std::erase(body, '_');
  if (!is_decimal(body)) return std::nullopt;
  return sign * std::strtod(body.c_str(), nullptr);
}

double rounded_real(double value, std::int64_t precision) {
  if (!std::isfinite(value) || precision > 323) return value;  // CPython's float___round___impl
  if (precision < -308) return std::copysign(0.0, value);
  char buffer[1024];
  if (precision >= 0) {
    std::snprintf(buffer, sizeof buffer, "%.*f", int(precision), value);
    return std::strtod(buffer, nullptr);
  }
  // The digits before the point are exact, and are rounded here.
  std::snprintf(buffer, sizeof buffer, "%.0f", std::trunc(std::abs(value)));
  std::string digits = buffer;
  const auto cut = std::size_t(-precision);
  if (digits.size() < cut) return std::copysign(0.0, value);
  const std::string rest = digits.substr(digits.size() - cut);
  std::string kept = "0" + digits.substr(0, digits.size() - cut);
  const bool beyond =
      rest.find_first_not_of('0', 1) != std::string::npos || std::trunc(value) != value;
  const bool up = rest[0] > '5' || (rest[0] == '5' && (beyond || (kept.back() - '0') % 2 != 0));
  for (std::size_t i = kept.size(); up && i-- > 0;) {
    if (kept[i] != '9') {
      ++kept[i];
      break;
    }
    kept[i] = '0';
  }
  return std::copysign(std::strtod((kept + std::string(cut, '0')).c_str(), nullptr), value);
}

}  // namespace rollcall::text::jinja
