// Converts between UTF-8 and code points, and looks up properties and case in the generated table.
#include "text/jinja/values/characters.hpp"

#include <algorithm>
#include <array>

namespace rollcall::text::jinja {
namespace {

const CharacterTable& table() {
  static const CharacterTable kTable = character_table();
  return kTable;
}

/// The last row that begins at or before `c`; null if there is none.
template <class Row>
const Row* row_at(std::span<const Row> rows, char32_t c) {
  const auto after =
      std::upper_bound(rows.begin(), rows.end(), c,
                       [](char32_t value, const Row& row) { return value < row.first; });
  return after == rows.begin() || c > std::prev(after)->last ? nullptr : &*std::prev(after);
}

void append_mapped(std::string& out, char32_t c, const Mapping& mapping) {
  if (const auto* row = row_at(mapping.rows, c); row && (c - row->first) % row->step == 0) {
    append_character(out, char32_t(std::int64_t(c) + row->delta));
    return;
  }
  const auto special =
      std::lower_bound(mapping.special.begin(), mapping.special.end(), c,
                       [](const SpecialRow& row, char32_t value) { return row.from < value; });
  if (special == mapping.special.end() || special->from != c) return append_character(out, c);
  for (const char32_t to : special->to) {
    if (to != 0) append_character(out, to);
  }
}

std::string mapped(std::string_view text, const Mapping& mapping) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) append_mapped(out, next_character(text, at), mapping);
  return out;
}

/// Whether a sigma may be final because no cased letter follows it. Ignorable characters are
/// skipped.
bool no_cased_follows(std::string_view after) {
  for (std::size_t at = 0; at < after.size();) {
    const char32_t c = next_character(after, at);
    if (!has_flag(c, kIgnorable)) return !has_flag(c, kCased);
  }
  return true;
}

constexpr char32_t kSigma = 0x3A3, kFinalSigma = 0x3C2;

/// The text from byte `begin` on in lower case. The text before it matters only for a final sigma.
std::string lower_from(std::string_view text, std::size_t begin) {
  std::string out;
  out.reserve(text.size());
  bool cased_before = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const char32_t c = next_character(text, at);
    if (start >= begin) {
      if (c == kSigma && cased_before && no_cased_follows(text.substr(at)))
        append_character(out, kFinalSigma);
      else append_mapped(out, c, table().lower);
    }
    if (!has_flag(c, kIgnorable)) cased_before = has_flag(c, kCased);
  }
  return out;
}

}  // namespace

bool is_utf8(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    const auto byte = [&](std::size_t k) {
      return i + k < s.size() ? static_cast<unsigned char>(s[i + k]) : 0;
    };
    const auto follows = [&](std::size_t k) { return (byte(k) & 0xC0) == 0x80; };
    const int a = byte(0), b = byte(1);
    const int length = a < 0x80 ? 1 : a < 0xC2 ? 0 : a < 0xE0 ? 2 : a < 0xF0 ? 3 : a < 0xF5 ? 4 : 0;
    if (length == 0 || (length > 1 && !follows(1)) || (length > 2 && !follows(2)) ||
        (length > 3 && !follows(3)))
      return false;
    if ((a == 0xE0 && b < 0xA0) || (a == 0xED && b > 0x9F) || (a == 0xF0 && b < 0x90) ||
        (a == 0xF4 && b > 0x8F))
      return false;  // overlong, surrogate, too large
    i += std::size_t(length);
  }
  return true;
}

std::size_t character_count(std::string_view text) {
  return std::size_t(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::size_t offset_of(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if ((text[at] & 0xC0) != 0x80 && index-- == 0) break;
  }
  return at;
}

char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t k) {
    return at + k < text.size() ? char32_t(static_cast<unsigned char>(text[at + k])) : 0;
  };
  const char32_t a = byte(0);
  const int length = a < 0x80 ? 1 : a < 0xE0 ? 2 : a < 0xF0 ? 3 : 4;
  char32_t c = length == 1 ? a : a & (0xFFU >> (length + 1));
  for (int k = 1; k < length; ++k) c = (c << 6) | (byte(std::size_t(k)) & 0x3F);
  at += std::size_t(length);
  return c;
}

char32_t last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (text[at] & 0xC0) == 0x80) --at;
  return next_character(text, at);
}

void append_character(std::string& text, char32_t c) {
  if (c < 0x80) {
    text += char(c);
  } else if (c < 0x800) {
    text += {char(0xC0 | (c >> 6)), char(0x80 | (c & 0x3F))};
  } else if (c < 0x10000) {
    text += {char(0xE0 | (c >> 12)), char(0x80 | ((c >> 6) & 0x3F)), char(0x80 | (c & 0x3F))};
  } else {
    text += {char(0xF0 | (c >> 18)), char(0x80 | ((c >> 12) & 0x3F)),
             char(0x80 | ((c >> 6) & 0x3F)), char(0x80 | (c & 0x3F))};
  }
}

bool has_flag(char32_t c, int flags) {
  static const auto kAscii = [] {
    std::array<std::uint16_t, 0x80> all{};
    for (char32_t ascii = 0; ascii < all.size(); ++ascii)
      if (const auto* row = row_at(table().properties, ascii)) all[ascii] = row->flags;
    return all;
  }();
  if (c < kAscii.size()) return (kAscii[c] & flags) != 0;
  const auto* row = row_at(table().properties, c);
  return row && (row->flags & flags) != 0;
}

int decimal_value(char32_t c) {
  const auto zeros = table().zeros;
  const auto after = std::upper_bound(zeros.begin(), zeros.end(), c);
  return after == zeros.begin() || c - *std::prev(after) > 9 ? -1 : int(c - *std::prev(after));
}

std::string upper(std::string_view text) { return mapped(text, table().upper); }
std::string lower(std::string_view text) { return lower_from(text, 0); }
std::string casefold(std::string_view text) { return mapped(text, table().fold); }

std::string swapcase(std::string_view text) {
  std::string out;
  bool cased_before = false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c == kSigma && cased_before && no_cased_follows(text.substr(at)))
      append_character(out, kFinalSigma);
    else
      append_mapped(out, c,
                    has_flag(c, kUppercase)   ? table().lower
                    : has_flag(c, kLowercase) ? table().upper
                                              : Mapping{});
    if (!has_flag(c, kIgnorable)) cased_before = has_flag(c, kCased);
  }
  return out;
}

std::string title(std::string_view text) {
  std::string out;
  bool in_word = false, cased_before = false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (in_word && c == kSigma && cased_before && no_cased_follows(text.substr(at)))
      append_character(out, kFinalSigma);
    else append_mapped(out, c, in_word ? table().lower : table().title);
    in_word = has_flag(c, kCased);
    if (!has_flag(c, kIgnorable)) cased_before = in_word;
  }
  return out;
}

std::string capitalize(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  if (!text.empty()) append_mapped(out, next_character(text, at), table().title);
  return out + lower_from(text, at);
}

std::string_view strip_left(std::string_view text) {
  for (std::size_t at = 0; !text.empty(); at = 0) {
    if (!is_space(next_character(text, at))) break;
    text.remove_prefix(at);
  }
  return text;
}

std::string_view strip_right(std::string_view text) {
  while (!text.empty() && is_space(last_character(text))) {
    while ((text.back() & 0xC0) == 0x80) text.remove_suffix(1);
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace rollcall::text::jinja
