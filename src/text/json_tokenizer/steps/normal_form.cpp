// Decomposes and composes using utf8proc's tables, without what came after Unicode 9. Marks are
// ordered here, because utf8proc takes quadratic time for that.
#include "text/json_tokenizer/steps/normal_form.hpp"

#include "text/json_tokenizer/steps/unicode.hpp"
#include "text/json_tokenizer/unicode_tables.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

namespace rollcall::text::json_tokenizer {
namespace {

struct Mark {
  char32_t code;
  int order;  ///< canonical combining class
};

int combining_class(char32_t c) {
  return c < 0x300 || !is_combining_mark(c)
             ? 0
             : int(utf8proc_get_property(utf8proc_int32_t(c))->combining_class);
}

bool is_decomposed(char32_t c) {
  return std::none_of(std::begin(kNotDecomposedThen), std::end(kNotDecomposedThen),
                      [c](const CodeRange& range) { return range.first <= c && c <= range.last; });
}

/// The decomposed text, with each run of marks in canonical order.
std::vector<char32_t> decompose(const std::string& text, NormalForm form) {
  const auto options =
      utf8proc_option_t(UTF8PROC_DECOMPOSE | (form.compatible ? UTF8PROC_COMPAT : 0));
  std::vector<char32_t> codes;
  codes.reserve(text.size());
  std::vector<Mark> marks;
  const auto end_run = [&] {
    if (marks.size() > 1)
      std::stable_sort(marks.begin(), marks.end(),
                       [](const Mark& a, const Mark& b) { return a.order < b.order; });
    for (const Mark& mark : marks) codes.push_back(mark.code);
    marks.clear();
  };
  const auto add = [&](char32_t c) {
    const int order = combining_class(c);
    if (order != 0) return marks.push_back({c, order});
    end_run();
    codes.push_back(c);
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, length] = decode(text, at);
    at += length;
    utf8proc_int32_t parts[32];  // U+FDFA decomposes into 18, the most of all
    int boundary = 0;
    if (c < 0xA0 || !is_decomposed(c)) {
      add(c);
      continue;
    }
    const auto count = utf8proc_decompose_char(utf8proc_int32_t(c), parts, 32, options, &boundary);
    for (utf8proc_ssize_t i = 0; i < count && i < 32; ++i) add(char32_t(parts[i]));
  }
  end_run();
  return codes;
}

/// The character that two adjacent ones compose to, or 0.
char32_t composed(char32_t starter, char32_t next) {
  if (!is_combining_mark(next) && next < 0x1100) return 0;
  if (starter == 0x11935) return 0;  // its composition with U+11930 came after Unicode 9
  // utf8proc 2.8 takes this character, which is before the trailing consonants, for one of them.
  if (next == 0x11A7) return 0;
  utf8proc_int32_t pair[2] = {utf8proc_int32_t(starter), utf8proc_int32_t(next)};
  const auto left =
      utf8proc_normalize_utf32(pair, 2, utf8proc_option_t(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  return left == 1 ? char32_t(pair[0]) : 0;
}

/// Canonical composition (Unicode, section 3.11, D117). Each mark joins the last starter unless a
/// mark between them has the same class or a higher one.
void compose(std::vector<char32_t>& codes) {
  std::size_t kept = 0, starter = codes.size();
  int last_class = -1;  // of the last mark after the starter; -1 if there is none
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const char32_t c = codes[i];
    const int order = combining_class(c);
    if (starter < kept && (last_class < order || last_class == -1)) {
      const char32_t whole = composed(codes[starter], c);
      if (whole != 0) {
        codes[starter] = whole;
        continue;
      }
    }
    if (order == 0) starter = kept, last_class = -1;
    else last_class = order;
    codes[kept++] = c;
  }
  codes.resize(kept);
}

std::string rewrite(const std::string& text, NormalForm form) {
  auto codes = decompose(text, form);
  if (form.composed) compose(codes);
  std::string normal;
  normal.reserve(text.size());
  for (const char32_t c : codes) append_utf8(c, normal);
  return normal;
}

/// [code point] whether it is its own NFC and does not join the character before it, so that NFC
/// does not change text made of such characters.
std::vector<bool> make_stable() {
  std::vector<bool> stable(kCodePoints, true);
  for (char32_t c = 0xA0; c < 0x40000; ++c) {
    const auto* property = utf8proc_get_property(utf8proc_int32_t(c));
    const bool joins = property->combining_class != 0 ||
                       (property->comb_index != UINT16_MAX && property->comb_index >= 0x8000) ||
                       (c >= 0x1161 && c < 0x1200);
    const bool decomposes = property->decomp_seqindex != UINT16_MAX && property->decomp_type == 0;
    std::string alone;
    if (decomposes && !joins) append_utf8(c, alone);
    stable[c] = !joins && (!decomposes || rewrite(alone, {true, false}) == alone);
  }
  return stable;
}

/// The NFC of a text, in which only stretches with unstable characters are rewritten. Each begins
/// with the character before an unstable one and ends before the next stable one.
std::string rewrite_unstable(const std::string& text) {
  static const std::vector<bool> stable = make_stable();
  std::string normal;
  std::size_t copied = 0, before = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, length] = decode(text, at);
    if (c < 0x300 || stable[c]) {
      before = at, at += length;
      continue;
    }
    std::size_t end = at + length;
    while (end < text.size() && !stable[decode(text, end).code]) end += decode(text, end).length;
    normal.append(text, copied, before - copied)
        .append(rewrite(text.substr(before, end - before), {true, false}));
    copied = before = at = end;
  }
  return copied == 0 ? text : normal.append(text, copied);
}

}  // namespace

std::string to_normal_form(const std::string& text, NormalForm form) {
  // Nothing below U+00A0 decomposes, and nothing below U+0300 is changed by NFC.
  const unsigned limit = form.composed && !form.compatible ? 0xCC : 0xC2;
  if (std::none_of(text.begin(), text.end(),
                   [limit](char c) { return static_cast<unsigned char>(c) >= limit; }))
    return text;
  if (form.composed && !form.compatible) return rewrite_unstable(text);
  return rewrite(text, form);
}

}  // namespace rollcall::text::json_tokenizer
