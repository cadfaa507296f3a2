// Computes the byte alphabet, and converts bytes to it and back.
#include "text/json_tokenizer/vocabulary/byte_alphabet.hpp"

#include "text/json_tokenizer/steps/unicode.hpp"

namespace rollcall::text::json_tokenizer {
namespace {

constexpr char32_t kEnd = 0x144;  // 256 + the 68 bytes that are not printable

std::array<char32_t, 256> make_characters() {
  std::array<char32_t, 256> of{};
  char32_t next = 256;
  for (char32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b != 0xAD);
    of[b] = printable ? b : next++;
  }
  return of;
}

std::array<int, kEnd> make_bytes() {
  std::array<int, kEnd> of;
  of.fill(-1);
  for (int b = 0; b < 256; ++b) of[byte_characters()[std::size_t(b)]] = b;
  return of;
}

}  // namespace

const std::array<char32_t, 256>& byte_characters() {
  static const auto of = make_characters();
  return of;
}

void append_as_characters(std::string_view bytes, std::string& to) {
  for (const char c : bytes) append_utf8(byte_characters()[static_cast<unsigned char>(c)], to);
}

std::optional<std::string> bytes_of_characters(std::string_view text) {
  static const auto bytes = make_bytes();
  std::string of;
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, length] = decode(text, at);
    if (c >= kEnd || bytes[c] < 0) return std::nullopt;
    of += char(bytes[c]);
    at += length;
  }
  return of;
}

}  // namespace rollcall::text::json_tokenizer
