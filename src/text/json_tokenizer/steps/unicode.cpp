// Builds the tables of categories and classes from utf8proc's data and the differences in
// unicode_tables.hpp, and reads and writes UTF-8.
#include "text/json_tokenizer/steps/unicode.hpp"

#include "text/json_tokenizer/unicode_tables.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace rollcall::text::json_tokenizer {
namespace {

/// The category of a character in utf8proc's data, which numbers categories in a different order.
Category from_utf8proc(char32_t c) {
  switch (utf8proc_category(utf8proc_int32_t(c))) {
    case UTF8PROC_CATEGORY_LU: return Category::lu;
    case UTF8PROC_CATEGORY_LL: return Category::ll;
    case UTF8PROC_CATEGORY_LT: return Category::lt;
    case UTF8PROC_CATEGORY_LM: return Category::lm;
    case UTF8PROC_CATEGORY_LO: return Category::lo;
    case UTF8PROC_CATEGORY_MN: return Category::mn;
    case UTF8PROC_CATEGORY_MC: return Category::mc;
    case UTF8PROC_CATEGORY_ME: return Category::me;
    case UTF8PROC_CATEGORY_ND: return Category::nd;
    case UTF8PROC_CATEGORY_NL: return Category::nl;
    case UTF8PROC_CATEGORY_NO: return Category::no;
    case UTF8PROC_CATEGORY_PC: return Category::pc;
    case UTF8PROC_CATEGORY_PD: return Category::pd;
    case UTF8PROC_CATEGORY_PS: return Category::ps;
    case UTF8PROC_CATEGORY_PE: return Category::pe;
    case UTF8PROC_CATEGORY_PI: return Category::pi;
    case UTF8PROC_CATEGORY_PF: return Category::pf;
    case UTF8PROC_CATEGORY_PO: return Category::po;
    case UTF8PROC_CATEGORY_SM: return Category::sm;
    case UTF8PROC_CATEGORY_SC: return Category::sc;
    case UTF8PROC_CATEGORY_SK: return Category::sk;
    case UTF8PROC_CATEGORY_SO: return Category::so;
    case UTF8PROC_CATEGORY_ZS: return Category::zs;
    case UTF8PROC_CATEGORY_ZL: return Category::zl;
    case UTF8PROC_CATEGORY_ZP: return Category::zp;
    case UTF8PROC_CATEGORY_CC: return Category::cc;
    case UTF8PROC_CATEGORY_CF: return Category::cf;
    case UTF8PROC_CATEGORY_CO: return Category::co;
    default: return Category::cn;
  }
}

bool between(char32_t c, char32_t first, char32_t last) { return first <= c && c <= last; }

/// Whether a character is a letter in a circle or square, which is Alphabetic but not in category
/// L.
bool is_letter_symbol(char32_t c) {
  return between(c, 0x24B6, 0x24E9) || between(c, 0x1F130, 0x1F149) ||
         between(c, 0x1F150, 0x1F169) || between(c, 0x1F170, 0x1F189);
}

std::uint8_t traits_of(char32_t c, Category category) {
  const bool mark = category >= Category::mn && category <= Category::me;
  const bool caseless = mark || category == Category::lm || category == Category::lo;
  unsigned traits = 0;
  if (category <= Category::lo) traits |= kLetter;
  if (category >= Category::nd && category <= Category::no) traits |= kNumber;
  if (is_space(c)) traits |= kSpace;
  if (c == '\r' || c == '\n') traits |= kNewline;
  if (caseless || category == Category::lu || category == Category::lt) traits |= kUpperish;
  if (caseless || category == Category::ll) traits |= kLowerish;
  const bool joins = c == 0x200C || c == 0x200D || category == Category::pc;
  // \w has Alphabetic, M, Nd, Pc and Join_Control.
  if (category <= Category::nl || joins || is_letter_symbol(c)) traits |= kWord;
  return std::uint8_t(traits);
}

std::unique_ptr<const Characters> make_characters() {
  auto made = std::make_unique<Characters>();
  std::memset(made->category, int(Category::cn), sizeof made->category);
  std::memset(made->traits, 0, sizeof made->traits);
  const auto fill = [&](char32_t first, char32_t last) {
    for (char32_t c = first; c <= last; ++c) made->category[c] = std::uint8_t(from_utf8proc(c));
  };
  // These are the planes with assigned characters.
  fill(0, 0x3FFFF);
  fill(0xE0000, 0xE0FFF);
  // The last two planes are for private use, except for their noncharacters.
  std::memset(made->category + 0xF0000, int(Category::co), 0x20000);
  for (const char32_t c : {0xFFFFE, 0xFFFFF, 0x10FFFE, 0x10FFFF})
    made->category[c] = std::uint8_t(Category::cn);
  for (const auto& row : kChangedSince14)
    std::memset(made->category + row.first, int(row.category), row.last - row.first + 1);
  for (char32_t c = 0; c < kCodePoints; ++c) {
    const auto category = Category(made->category[c]);
    // Characters of cc and the categories after it have no traits from U+2100 on.
    if (category < Category::cc || c < 0x2100) made->traits[c] = traits_of(c, category);
  }
  return made;
}

template <std::size_t N>
bool is_in(char32_t c, const CodeRange (&ranges)[N]) {
  const auto* after =
      std::upper_bound(std::begin(ranges), std::end(ranges), c,
                       [](char32_t value, const CodeRange& range) { return value < range.first; });
  return after != std::begin(ranges) && c <= (after - 1)->last;
}

/// Length in bytes of the well-formed character at the beginning of `text`. If there is none, it is
/// minus the length of the maximal ill-formed part.
int character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const int length = first >= 0xC2 && first < 0xE0   ? 2
                     : first >= 0xE0 && first < 0xF0 ? 3
                     : first >= 0xF0 && first < 0xF5 ? 4
                                                     : 0;
  if (length == 0) return -1;
  const unsigned low = first == 0xE0   ? 0xA0
                       : first == 0xF0 ? 0x90
                                       : 0x80,
                 high = first == 0xED   ? 0x9F
                        : first == 0xF4 ? 0x8F
                                        : 0xBF;
  if (byte(1) < low || byte(1) > high) return -1;
  for (int i = 2; i < length; ++i) {
    if ((byte(std::size_t(i)) & 0xC0) != 0x80) return -i;
  }
  return length;
}

/// The number of bytes at the beginning that are ASCII, in steps of eight.
std::size_t ascii_start(std::string_view text) {
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + 8 <= text.size(); at += 8) {
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080ULL) != 0) break;
  }
  return at;
}

}  // namespace

const Characters& characters() {
  static const std::unique_ptr<const Characters> made = make_characters();
  return *made;
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || between(c, 9, 13);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || between(c, 0x2000, 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_numeric(char32_t c) {
  return has_trait(c, kNumber) || between(c, 0x11DE0, 0x11DE9) || between(c, 0x16FF4, 0x16FF6);
}

bool is_punctuation(char32_t c) {
  if (c < 0x80)
    return between(c, '!', '/') || between(c, ':', '@') || between(c, '[', '`') ||
           between(c, '{', '~');
  const auto kind = category(c);
  return (kind >= Category::pc && kind <= Category::po && !is_in(c, kNoPunctuationThen)) ||
         is_in(c, kPunctuationThen);
}

bool is_combining_mark(char32_t c) {
  const auto kind = category(c);
  return (kind >= Category::mn && kind <= Category::me && !is_in(c, kNoMarkThen)) ||
         is_in(c, kMarkThen);
}

void append_lowercase(char32_t c, std::string& to) {
  // Capitals that are newer than utf8proc's Unicode 15: first, last, and the first one's lower-case
  // letter.
  struct Later {
    char32_t first, last, lower;
  };
  constexpr Later kLater[] = {{0x1C89, 0x1C89, 0x1C8A},    {0xA7CB, 0xA7CB, 0x264},
                              {0xA7CC, 0xA7CC, 0xA7CD},    {0xA7CE, 0xA7CE, 0xA7CF},
                              {0xA7D2, 0xA7D2, 0xA7D3},    {0xA7D4, 0xA7D4, 0xA7D5},
                              {0xA7DA, 0xA7DA, 0xA7DB},    {0xA7DC, 0xA7DC, 0x19B},
                              {0x10D50, 0x10D65, 0x10D70}, {0x16EA0, 0x16EB8, 0x16EBB}};
  if (c == 0x130) return append_utf8('i', to), append_utf8(0x307, to);
  for (const auto& later : kLater) {
    if (between(c, later.first, later.last))
      return append_utf8(later.lower + (c - later.first), to);
  }
  append_utf8(char32_t(utf8proc_tolower(utf8proc_int32_t(c))), to);
}

void append_utf8(char32_t c, std::string& to) {
  if (c < 0x80) {
    to += char(c);
    return;
  }
  if (c < 0x800) {
    to += char(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) to += char(0xE0 | c >> 12);
    else to += char(0xF0 | c >> 18), to += char(0x80 | (c >> 12 & 0x3F));
    to += char(0x80 | (c >> 6 & 0x3F));
  }
  to += char(0x80 | (c & 0x3F));
}

bool is_valid_utf8(std::string_view text) {
  for (std::size_t at = ascii_start(text); at < text.size();) {
    const int length = character_length(text.substr(at));
    if (length < 0) return false;
    at += std::size_t(length);
  }
  return true;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const int length = character_length(text);
    if (length < 0) valid += "\xEF\xBF\xBD";
    else valid += text.substr(0, std::size_t(length));
    text.remove_prefix(std::size_t(length < 0 ? -length : length));
  }
  return valid;
}

}  // namespace rollcall::text::json_tokenizer
