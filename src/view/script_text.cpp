// Escapes byte by byte, but copies runs of ordinary bytes at once.
#include "view/script_text.hpp"

#include "base/errors/visible.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace rollcall::view {
namespace {

bool is_plain(char c) {
  return c >= ' ' && c < 0x7F && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
}

void add_ascii(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    default: out += fmt::format("\\u{:04x}", std::uint8_t(c)); return;
  }
}

template <class... Arguments>
void add_chars(std::string& out, Arguments... arguments) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), arguments...).ptr;
  out.append(digits.data(), std::size_t(end - digits.data()));
}

}  // namespace

void add_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(text[plain])) ++plain;
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t size = first_character(text).bytes;
    const std::string_view character = text.substr(0, size);
    if (size == 0) out += fmt::format("\\\\x{:02X}", std::uint8_t(text[0]));
    else if (size == 1) add_ascii(out, text[0]);
    else if (character == "\xE2\x80\xA8" || character == "\xE2\x80\xA9")
      out += character.back() == '\xA8' ? "\\u2028" : "\\u2029";
    else out += character;
    text.remove_prefix(size == 0 ? 1 : size);
  }
  out += '"';
}

std::string json_string(std::string_view text) {
  std::string out;
  add_string(out, text);
  return out;
}

void add_integer(std::string& out, std::int64_t value) { add_chars(out, value); }

void add_number(std::string& out, double value, int digits) {
  if (!std::isfinite(value)) out += "null";
  else add_chars(out, value, std::chars_format::general, digits);
}

void add_milli(std::string& out, double value) {
  if (std::isfinite(value) && std::abs(value) < 1e12)
    add_chars(out, std::int64_t(std::llround(value * 1000.0)));
  else out += "null";
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = first_character(text).bytes;
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string_view beginning(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (std::uint8_t(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

std::string call(std::string_view name, std::string_view json) {
  std::string out = "rollcall(";
  out.reserve(json.size() + 64);
  add_string(out, name);
  out += ',', out += json, out += ");\n";
  return out;
}

}  // namespace rollcall::view
