// Decides which tokens are values: numbers, formulas, one-letter names, and numbers in words.
#include "text/tokenizer/token_values.hpp"

#include "text/conclusion/announcement_words.hpp"

#include <algorithm>

namespace rollcall::text {
namespace {

constexpr std::size_t kMostNested = 6;  // signs and brackets that may come before a value

const AnnouncementWords& words() {
  static const AnnouncementWords& all = announcement_words();
  return all;
}

bool is_one_letter(std::string_view word) {
  return word.size() == 1 && static_cast<unsigned char>(word[0]) < 0x80;
}

/// Whether the token is a number in words: "twenty-one", "half".
bool is_number_word(const Tokens& t, std::size_t at) {
  const std::string_view word = t.word(at);
  if (word == "one" || word == "half" || word == "minus" || word == "negative") {
    const std::string_view next = t.word(at + 1);
    for (const std::string_view verb :
         {"of", "can", "could", "might", "may", "must", "should", "has", "gets", "that", "would",
          "way", "thing", "is", "signs", "sign"})
      if (next == verb) return false;
    if (word == "minus" || word == "negative") return is_value(t, at + 1);
  }
  if (words().numbers.begins(t, at)) return true;
  const std::size_t hyphen = word.find('-');
  return hyphen != std::string_view::npos && word.substr(hyphen - 1, 3) != "y-o" && hyphen >= 3 &&
         word.substr(hyphen - 2, 2) == "ty";
}

/// Whether the token is a one-letter word and not a name: "a" before a word, "A" at the beginning
/// of a sentence, or "I".
bool is_article(const Tokens& t, std::size_t at) {
  const std::string_view spelt = t.spelt(at), next = t.word(at + 1);
  if ((spelt != "a" && spelt != "A" && spelt != "I") || next.empty() || !t.is_spaced(at + 1) ||
      next == "and" || next == "or")
    return false;
  if (spelt != "A") return true;
  return (at == 0 || t.is(at - 1, Kind::stop) || t.is(at - 1, Kind::line)) &&
         !words().remarks.begins(t, at + 1);
}

bool is_value_within(const Tokens& t, std::size_t at, std::size_t depth) {
  while (t.is(at, Kind::mark) || t.is(at, Kind::quote) || t.is(at, Kind::ornament)) ++at;
  if (at >= t.size() || depth > kMostNested) return false;
  const std::string_view spelt = t.spelt(at);
  switch (t[at].kind) {
    case Kind::number:
    case Kind::formula: return true;
    case Kind::command: return true;
    case Kind::currency:
    case Kind::open:
      return is_value_within(t, at + 1, depth + 1) ||
             (t.is(at, Kind::open) && t.is(at + 1, Kind::close)) ||
             (t.is(at, Kind::currency) && t.is(at + 1, Kind::stop) && t.is(at + 2, Kind::number));
    case Kind::dash:
      return spelt == "-" && (!t.is_spaced(at + 1) || t.is(at + 1, Kind::number)) &&
             is_value_within(t, at + 1, depth + 1);
    case Kind::stop: return spelt == "." && t.is(at + 1, Kind::number) && !t.is_spaced(at + 1);
    case Kind::sign:
      for (const std::string_view alone : {"∞", "∅", "ℝ", "ℕ", "ℤ", "π", "½", "¼", "¾", "⅓", "⅔"})
        if (spelt == alone) return true;
      return is_value_within(t, at + 1, depth + 1);
    case Kind::word: break;
    default: return false;
  }
  if (is_one_letter(t.word(at))) return !is_article(t, at);
  if (t.is(at + 1, Kind::equals) && spelt.size() <= 3) return true;
  if (t.is(at + 1, Kind::open) && !t.is_spaced(at + 1) && spelt.size() <= 2) return true;
  // a name with an index, such as x1
  if (spelt.size() <= 3 && spelt.find_first_of("0123456789") != std::string_view::npos) return true;
  // a Roman numeral, such as II
  if (spelt.size() <= 4 && spelt.find_first_not_of("IVX") == std::string_view::npos) return true;
  return words().functions.begins(t, at) || is_number_word(t, at) || spelt == "π" || spelt == "½";
}

}  // namespace

std::size_t skip_marks(const Tokens& t, std::size_t at) {
  while (t.is(at, Kind::mark) || t.is(at, Kind::quote) || t.is(at, Kind::ornament)) ++at;
  return at;
}

bool is_value(const Tokens& tokens, std::size_t at) { return is_value_within(tokens, at, 0); }

std::size_t sentence_end(const Tokens& t, std::size_t at) {
  for (; at < t.size(); ++at) {
    if (t.is(at, Kind::line)) return at;
    const bool closes = at + 1 >= t.size() || t.is_spaced(at + 1) || t.is(at + 1, Kind::line) ||
                        t.is(at + 1, Kind::mark) || t.is(at + 1, Kind::quote) ||
                        t.is(at + 1, Kind::close);
    if (t.is(at, Kind::stop) && (closes || static_cast<unsigned char>(t.spelt(at)[0]) >= 0x80))
      return at;
  }
  return at;
}

}  // namespace rollcall::text
