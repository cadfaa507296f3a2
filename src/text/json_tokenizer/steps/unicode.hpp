// Properties of characters as Hugging Face's tokenizers have them: UTF-8, general categories, and
// classes built from these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rollcall::text::json_tokenizer {

/// Unicode's general categories. Unassigned code points have cn.
enum class Category : std::uint8_t {
  lu,
  ll,
  lt,
  lm,
  lo,
  mn,
  mc,
  me,
  nd,
  nl,
  no,
  pc,
  pd,
  ps,
  pe,
  pi,
  pf,
  po,
  sm,
  sc,
  sk,
  so,
  zs,
  zl,
  zp,
  cc,
  cf,
  co,
  cn
};

/// Classes that the usual patterns need, as bits of one byte per code point.
enum Trait : std::uint8_t {
  kLetter = 1,     ///< \p{L}
  kNumber = 2,     ///< \p{N}
  kSpace = 4,      ///< \s, the property White_Space
  kNewline = 8,    ///< [\r\n]
  kUpperish = 16,  ///< [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
  kLowerish = 32,  ///< [\p{Ll}\p{Lm}\p{Lo}\p{M}]
  kWord = 64,      ///< \w of Rust's regex crate
};

constexpr char32_t kCodePoints = 0x110000;

/// Properties of all code points. They are computed at first use, which takes about 2 ms.
struct Characters {
  std::uint8_t category[kCodePoints];  ///< a Category
  std::uint8_t traits[kCodePoints];    ///< Trait bits
};
const Characters& characters();

inline Category category(char32_t c) { return Category(characters().category[c]); }
inline bool has_trait(char32_t c, Trait trait) { return (characters().traits[c] & trait) != 0; }
bool is_space(char32_t c);           ///< the property White_Space
bool is_numeric(char32_t c);         ///< category N in Unicode 17
bool is_punctuation(char32_t c);     ///< as the pre-tokenizers Punctuation and BertPreTokenizer
                                     ///< define it
bool is_combining_mark(char32_t c);  ///< category M in Unicode 9
/// Appends Rust's char::to_lowercase, which is two characters for U+0130.
void append_lowercase(char32_t c, std::string& to);

/// A character and its length in bytes.
struct Decoded {
  char32_t code;
  std::size_t length;
};

/// The character that begins at byte `at` of valid UTF-8.
inline Decoded decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return char32_t(static_cast<unsigned char>(text[at + i]));
  };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (first < 0xF0) return {(first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F),
          4};
}

/// The character that ends before byte `end` of valid UTF-8, which is more than 0.
inline Decoded decode_before(std::string_view text, std::size_t end) {
  std::size_t begin = end - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return decode(text, begin);
}

void append_utf8(char32_t c, std::string& to);
bool is_valid_utf8(std::string_view text);

/// The text with one U+FFFD in place of each maximal ill-formed part, as Python's errors="replace"
/// and Rust's from_utf8_lossy do (Unicode, section 3.9).
std::string replace_invalid_utf8(std::string_view text);

}  // namespace rollcall::text::json_tokenizer
