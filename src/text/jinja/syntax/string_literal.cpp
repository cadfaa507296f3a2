// Python's escapes: \n and the like, \x, \u, \U and octal. Others are kept.
#include "text/jinja/syntax/string_literal.hpp"

#include "text/jinja/fault.hpp"
#include "text/jinja/values/characters.hpp"

#include <charconv>

namespace rollcall::text::jinja {
namespace {

void append_code(std::string& out, std::string_view digits, std::size_t wanted, int base) {
  std::uint32_t code = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), code, base);
  if (digits.size() < wanted || error != std::errc() || end != digits.data() + digits.size() ||
      code > 0x10FFFF) {
    throw Fault{FaultKind::syntax,
                "a \\x, \\u or \\U escape without its digits, or beyond U+10FFFF"};
  }
  if (code >= 0xD800 && code < 0xE000) fail_unsupported("a lone surrogate in a string");
  append_character(out, code);
}

/// Appends the character of one escape. `s` begins after the backslash and is not empty.
void append_escape(std::string& out, std::string_view& s) {
  static constexpr std::string_view kLetters = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";
  const char c = s.front();
  if (const std::size_t at = kLetters.find(c); at != std::string_view::npos) {
    out += kMeanings[at];
    return s.remove_prefix(1);
  }
  if (c == 'x' || c == 'u' || c == 'U') {
    const std::size_t n = c == 'x' ? 2 : c == 'u' ? 4 : 8;
    append_code(out, s.substr(1, n), n, 16);
    return s.remove_prefix(1 + n);
  }
  if (c >= '0' && c <= '7') {
    std::size_t n = 1;
    while (n < 3 && n < s.size() && s[n] >= '0' && s[n] <= '7') ++n;
    append_code(out, s.substr(0, n), n, 8);
    return s.remove_prefix(n);
  }
  if (c == 'N') fail_unsupported("a character by name (\\N)");
  if (c == '\n') return s.remove_prefix(1);  // the line is continued
  out += '\\';
}

}  // namespace

std::string unescaped(std::string_view s) {
  std::string out;
  while (!s.empty()) {
    if (s.front() != '\\' || s.size() == 1) {
      out += s.front();
      s.remove_prefix(1);
      continue;
    }
    s.remove_prefix(1);
    append_escape(out, s);
  }
  return out;
}

}  // namespace rollcall::text::jinja
