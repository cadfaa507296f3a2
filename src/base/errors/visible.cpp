// Decodes UTF-8 without trusting its input, and writes the escapes.
#include "base/errors/visible.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdio>

namespace rollcall {
namespace {

bool is_plain(char c) { return c >= ' ' && c <= '~'; }

/// Whether a character could have an effect on a terminal, a log or a reader.
bool acts(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029 ||
         reorders(code);
}

/// Moves the first character of `text` to `out`, escaped if necessary.
void add_character(std::string& out, std::string_view& text) {
  const Character character = first_character(text);
  if (character.bytes == 0) out += fmt::format("\\x{:02X}", std::uint8_t(text[0]));
  else if (acts(character.code)) out += fmt::format("\\u{:04X}", std::uint32_t(character.code));
  else out += text.substr(0, character.bytes);
  text.remove_prefix(character.bytes == 0 ? 1 : character.bytes);
}

/// Copies nearly all bytes in stretches. `special` adds a newline or a tab.
template <class Special>
std::string escaped(std::string_view text, const Special& special) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(text[plain])) ++plain;
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    if (text[0] != '\n' && text[0] != '\t') {
      add_character(out, text);
    } else {
      special(out, text[0]);
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return std::uint8_t(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t size = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < size) return {};
  char32_t code = byte(0) & (0x7F >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  const char32_t least = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
  const bool valid = code >= least && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  return valid ? Character{code, size} : Character{};
}

bool reorders(char32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x206F);
}

std::string visible(std::string_view text) {
  return escaped(text, [](std::string& out, char c) { out += c == '\n' ? "\\n" : "\\t"; });
}

std::string visible_lines(std::string_view text, std::string_view bar) {
  return escaped(text, [&](std::string& out, char c) {
    out += c;
    if (c == '\n') out += bar;
  });
}

std::string brief(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most;
  while (end > 0 && (std::uint8_t(text[end]) & 0xC0) == 0x80) --end;
  return fmt::format("{}... ({} bytes)", text.substr(0, end), text.size());
}

std::string for_standard_output(std::string text) {
  return ::isatty(STDOUT_FILENO) == 1 ? visible_lines(text) : text;
}

void complain(std::string_view message) {
  // bytes: some messages quote a file, which may be a single line of gigabytes
  constexpr std::size_t kLongest = 65536;
  std::fputs(("rollcall: " + visible_lines(brief(message, kLongest), kMessageBar) + "\n").c_str(),
             stderr);
}

}  // namespace rollcall
