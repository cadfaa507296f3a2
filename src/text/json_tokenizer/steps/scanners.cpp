// Scanners for the patterns of GPT-2, GPT-4, Llama 3, Qwen and o200k. tests/text/scanners_test.cpp
// compares them with PCRE2.
#include "text/json_tokenizer/steps/scanners.hpp"

#include "text/json_tokenizer/steps/unicode.hpp"

namespace rollcall::text::json_tokenizer {
namespace {

struct Seen {
  std::uint8_t traits;
  std::size_t end;
};

/// A text that gives its characters with their classes. Comments on the functions below give the
/// patterns that they match.
class View {
 public:
  explicit View(std::string_view text) : text_(text), traits_(characters().traits) {}

  std::size_t size() const { return text_.size(); }
  char byte(std::size_t at) const { return text_[at]; }

  Seen see(std::size_t at) const {
    const auto first = static_cast<unsigned char>(text_[at]);
    if (first < 0x80) return {traits_[first], at + 1};
    const auto [c, length] = decode(text_, at);
    return {traits_[c], at + length};
  }

  /// The end of the characters from byte `at` on that have any of the traits.
  std::size_t run(std::size_t at, unsigned traits) const {
    while (at < text_.size()) {
      const Seen seen = see(at);
      if ((seen.traits & traits) == 0) break;
      at = seen.end;
    }
    return at;
  }

  /// The end of the characters from byte `at` on that have none of the traits.
  std::size_t run_without(std::size_t at, unsigned traits) const {
    while (at < text_.size()) {
      const Seen seen = see(at);
      if ((seen.traits & traits) != 0) break;
      at = seen.end;
    }
    return at;
  }

  bool starts(std::size_t at, std::string_view what) const {
    return text_.substr(at, what.size()) == what;
  }

 private:
  std::string_view text_;
  const std::uint8_t* traits_;
};

constexpr unsigned kSolid = kSpace | kLetter | kNumber;  // excluded by [^\s\p{L}\p{N}]

/// The end of 's|'t|'re|'ve|'m|'ll|'d at an apostrophe, or `at`.
std::size_t contraction(const View& text, std::size_t at) {
  if (at + 1 >= text.size() || text.byte(at) != '\'') return at;
  switch (text.byte(at + 1)) {
    case 's':
    case 't':
    case 'm':
    case 'd': return at + 2;
    case 'r':
    case 'v': return at + 2 < text.size() && text.byte(at + 2) == 'e' ? at + 3 : at;
    case 'l': return at + 2 < text.size() && text.byte(at + 2) == 'l' ? at + 3 : at;
    default: return at;
  }
}

/// The end of a contraction as in contraction(), but in upper or lower case, and with U+017F, the
/// long s, as well.
std::size_t contraction_any_case(const View& text, std::size_t at) {
  if (at + 1 >= text.size() || text.byte(at) != '\'') return at;
  const auto lower = [&](std::size_t i) {
    return i < text.size() && static_cast<unsigned char>(text.byte(i)) < 0x80
               ? char(text.byte(i) | 0x20)
               : '\0';
  };
  switch (lower(at + 1)) {
    case 's':
    case 't':
    case 'm':
    case 'd': return at + 2;
    case 'r':
    case 'v': return lower(at + 2) == 'e' ? at + 3 : at;
    case 'l': return lower(at + 2) == 'l' ? at + 3 : at;
    default: return text.starts(at + 1, "\xC5\xBF") ? at + 3 : at;
  }
}

/// The end of \s+(?!\S)|\s+, which is white space without its last character if something else
/// follows.
std::size_t spaces(const View& text, std::size_t at) {
  std::size_t last = at, end = at;
  while (end < text.size()) {
    const Seen seen = text.see(end);
    if ((seen.traits & kSpace) == 0) break;
    last = end, end = seen.end;
  }
  return end == text.size() || last == at ? end : last;
}

/// The end of \s*[\r\n]+|\s+(?!\S)|\s+, which is after the last line break of the white space if it
/// has one.
std::size_t lines_or_spaces(const View& text, std::size_t at) {
  std::size_t last = at, end = at, break_end = at;
  while (end < text.size()) {
    const Seen seen = text.see(end);
    if ((seen.traits & kSpace) == 0) break;
    last = end, end = seen.end;
    if ((seen.traits & kNewline) != 0) break_end = end;
  }
  if (break_end > at) return break_end;
  return end == text.size() || last == at ? end : last;
}

/// The end of at most `limit` characters of \p{N} from byte `at` on.
std::size_t numbers(const View& text, std::size_t at, int limit) {
  for (int i = 0; i < limit && at < text.size(); ++i) {
    const Seen seen = text.see(at);
    if ((seen.traits & kNumber) == 0) break;
    at = seen.end;
  }
  return at;
}

std::size_t scan_gpt2(std::string_view source, std::size_t at) {
  const View text(source);
  if (const std::size_t end = contraction(text, at); end > at) return end;
  const std::size_t begin = text.byte(at) == ' ' && at + 1 < text.size() ? at + 1 : at;
  const Seen first = text.see(begin);
  if ((first.traits & kLetter) != 0) return text.run(first.end, kLetter);
  if ((first.traits & kNumber) != 0) return text.run(first.end, kNumber);
  if ((first.traits & kSpace) == 0) return text.run_without(first.end, kSolid);
  return spaces(text, at);
}

/// The end of " ?[^\s\p{L}\p{N}]+[\r\n]*", or `at`. In o200k the last part may have "/" as well.
std::size_t symbols(const View& text, std::size_t at, bool slashes) {
  const std::size_t begin = text.byte(at) == ' ' && at + 1 < text.size() ? at + 1 : at;
  const Seen first = text.see(begin);
  if ((first.traits & kSolid) != 0) return at;
  std::size_t end = text.run_without(first.end, kSolid);
  while (end < text.size() &&
         (text.byte(end) == '\r' || text.byte(end) == '\n' || (slashes && text.byte(end) == '/')))
    ++end;
  return end;
}

template <int kDigits>
std::size_t scan_gpt4(std::string_view source, std::size_t at) {
  const View text(source);
  const Seen first = text.see(at);
  if ((first.traits & kLetter) != 0) return text.run(first.end, kLetter);
  if (const std::size_t end = contraction_any_case(text, at); end > at) return end;
  if ((first.traits & kNumber) != 0) return numbers(text, at, kDigits);
  if ((first.traits & kNewline) == 0 && first.end < text.size()) {
    const Seen second = text.see(first.end);
    if ((second.traits & kLetter) != 0) return text.run(second.end, kLetter);
  }
  if (const std::size_t end = symbols(text, at, false); end > at) return end;
  return lines_or_spaces(text, at);
}

/// The end of [U]*[W]+ with U for kUpperish and W for kLowerish, or `at`.
std::size_t lower_word(const View& text, std::size_t at) {
  std::size_t end = at, caseless_end = at;
  while (end < text.size()) {
    const Seen seen = text.see(end);
    if ((seen.traits & kUpperish) == 0) break;
    end = seen.end;
    if ((seen.traits & kLowerish) != 0) caseless_end = end;
  }
  const std::size_t lower_end = text.run(end, kLowerish);
  // Without lower case, [U]* gives characters back up to the last one that is also in W.
  return lower_end > end ? lower_end : caseless_end;
}

std::size_t scan_o200k(std::string_view source, std::size_t at) {
  const View text(source);
  const Seen first = text.see(at);
  const bool may_lead = (first.traits & (kNewline | kLetter | kNumber)) == 0;  // [^\r\n\p{L}\p{N}]?
  if (may_lead) {
    if (const std::size_t end = lower_word(text, first.end); end > first.end)
      return contraction_any_case(text, end);
  }
  if (const std::size_t end = lower_word(text, at); end > at)
    return contraction_any_case(text, end);
  if (may_lead) {  // [U]+[W]*, after which there is no W, since a word above would have matched
    if (const std::size_t end = text.run(first.end, kUpperish); end > first.end)
      return contraction_any_case(text, end);
  }
  if (const std::size_t end = text.run(at, kUpperish); end > at)
    return contraction_any_case(text, end);
  if ((first.traits & kNumber) != 0) return numbers(text, at, 3);
  if (const std::size_t end = symbols(text, at, true); end > at) return end;
  return lines_or_spaces(text, at);
}

}  // namespace

// The sources are in the tokenizer.json of gpt2, of cl100k_base as transformers converts it (and of
// Llama 3), of Qwen2, and of o200k_base.
const KnownPattern kKnownPatterns[4] = {
    {"gpt2", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     scan_gpt2},
    {"gpt4",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     scan_gpt4<3>},
    {"qwen2",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     scan_gpt4<1>},
    {"o200k",
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     scan_o200k},
};

Scanner scanner_of(std::string_view source) {
  for (const auto& known : kKnownPatterns) {
    if (source == known.source) return known.scan;
  }
  return nullptr;
}

}  // namespace rollcall::text::json_tokenizer
