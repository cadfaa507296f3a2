// Finds and normalises answers, and counts printable characters.
#include "text/answer/answer_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rollcall::text {
namespace {

constexpr std::string_view kSpace = " \t\r\n\f\v";

bool all_digits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The digits of a number without its commas: "1,050" -> "1050". Nothing if the commas are not
/// between groups of three digits.
std::optional<std::string> whole_part(std::string_view s) {
  std::string digits;
  const std::size_t first = s.find(',');
  if (first == std::string_view::npos)
    return all_digits(s) ? std::optional(std::string(s)) : std::nullopt;
  if (first == 0 || first > 3) return std::nullopt;
  for (std::size_t begin = 0, end = first;; begin = end + 1, end = begin + 3) {
    if (end > s.size() || !all_digits(s.substr(begin, end - begin))) return std::nullopt;
    digits += s.substr(begin, end - begin);
    if (end == s.size()) return digits;
    if (s[end] != ',') return std::nullopt;
  }
}

void skip_one_of(std::string_view& s, std::string_view wanted) {
  if (!s.empty() && wanted.find(s.front()) != std::string_view::npos) s.remove_prefix(1);
}

/// Length in bytes of the valid printable character at the beginning of `s`; 0 if there is none.
/// The ranges are from table 3-7 of the Unicode standard.
std::size_t printable_length(std::string_view s) {
  const auto byte = [&](std::size_t i) {
    return i < s.size() ? static_cast<unsigned char>(s[i]) : 0;
  };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const int a = byte(0), b = byte(1);
  if (a < 0x80) return (a >= 0x20 && a != 0x7F) || a == '\n' || a == '\t' ? 1 : 0;
  if (a < 0xC2 || a > 0xF4 || !follows(1)) return 0;
  if (a < 0xE0) return a == 0xC2 && b < 0xA0 ? 0 : 2;  // U+0080..U+009F are control characters
  // overlong, surrogate
  if ((a == 0xE0 && b < 0xA0) || (a == 0xED && b > 0x9F) || !follows(2)) return 0;
  if (a < 0xF0) return 3;
  // overlong, beyond U+10FFFF
  if ((a == 0xF0 && b < 0x90) || (a == 0xF4 && b > 0x8F) || !follows(3)) return 0;
  return 4;
}

}  // namespace

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos
             ? std::string_view{}
             : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string cut(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::optional<MarkedAnswer> find_marked_answer(std::string_view text, std::string_view marker) {
  if (marker.empty()) return MarkedAnswer{{}, trim(text), true};
  const std::size_t at = text.rfind(marker);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + marker.size());
  const std::size_t line_end = rest.find('\n');
  return MarkedAnswer{text.substr(0, at), trim(rest.substr(0, line_end)),
                      line_end == std::string_view::npos};
}

std::string normal_answer(std::string_view answer) {
  // U+2212, which models often write as a minus
  constexpr std::string_view kMinus = "\xE2\x88\x92";
  const std::string_view given = trim(answer);
  const std::size_t minus = given.starts_with(kMinus) ? 0
                            : given.starts_with("$") && given.substr(1).starts_with(kMinus)
                                ? 1
                                : std::string_view::npos;
  const std::string ascii = minus == std::string_view::npos
                                ? std::string(given)
                                : std::string(given.substr(0, minus))
                                      .append("-")
                                      .append(given.substr(minus + kMinus.size()));
  const std::string_view text = ascii;
  std::string_view s = text;
  const bool negative = s.starts_with('-') || s.starts_with("$-");
  skip_one_of(s, "-+$");
  skip_one_of(s, text.starts_with('$') ? "-+" : "$");
  if (s.ends_with('.')) s.remove_suffix(1);
  const std::size_t point = s.find('.');
  const auto whole = point == 0 ? std::optional(std::string("0")) : whole_part(s.substr(0, point));
  std::string fraction(point == std::string_view::npos ? "" : s.substr(point + 1));
  if (!whole || (point != std::string_view::npos && !all_digits(fraction)))
    return std::string(given);
  while (fraction.ends_with('0')) fraction.pop_back();
  std::string number = whole->substr(std::min(whole->find_first_not_of('0'), whole->size() - 1));
  if (!fraction.empty()) number += "." + fraction;
  return negative && number != "0" ? "-" + number : number;
}

double printable_share(std::string_view text) {
  if (text.empty()) return 0;
  std::size_t printable = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = printable_length(text.substr(i));
    printable += length;
    i += std::max(length, std::size_t{1});
  }
  return double(printable) / double(text.size());
}

}  // namespace rollcall::text
