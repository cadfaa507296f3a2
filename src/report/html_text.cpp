// Escapes for HTML.
#include "report/html_text.hpp"

#include "base/errors/visible.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace rollcall::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

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
    // the picture of the control character, in the Unicode block "Control Pictures"
    out += fmt::format("&#x{:X};", 0x2400 + std::uint32_t(code));
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
    const Character d = first_character(text);
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
