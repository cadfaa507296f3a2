// UTF-8 decoding that never trusts its input, and the escapes.
#include "report/html_text.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace rollcall::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Decoded {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: not valid UTF-8
};

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
Decoded decode(std::string_view s) {
  const auto byte = [&](std::size_t i) { return std::uint8_t(s[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t size = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || s.size() < size) return {};
  char32_t code = byte(0) & (0x7F >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  const char32_t least = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
  const bool valid = code >= least && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  return valid ? Decoded{code, size} : Decoded{};
}

bool reorders(char32_t c) { return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069); }

void append_escaped(std::string& out, char32_t code, std::string_view bytes) {
  switch (code) {
    case '&': out += "&amp;"; return;
    case '<': out += "&lt;"; return;
    case '>': out += "&gt;"; return;
    case '"': out += "&quot;"; return;
    case '\'': out += "&#39;"; return;
    case '\t':
    case '\n': out += char(code); return;
    default: break;
  }
  if (code < 0x20) {
    out += fmt::format("&#x{:X};", 0x2400 + std::uint32_t(code));  // the block "Control Pictures"
  } else if (code == 0x7F) {
    out += "&#x2421;";
  } else if (code >= 0x80 && code < 0xA0) {
    out += kReplacement;
  } else if (reorders(code)) {
    out += fmt::format("\\u{:04X}", std::uint32_t(code));
  } else {
    out += bytes;
  }
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const Decoded d = decode(text);
    if (d.bytes == 0) {
      out += kReplacement;
    } else {
      append_escaped(out, d.code, text.substr(0, d.bytes));
    }
    text.remove_prefix(d.bytes == 0 ? 1 : d.bytes);
  }
  return out;
}

}  // namespace rollcall::report
