// A response as the reader of announcements sees it: words, numbers, formulas, marks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

enum class Kind : unsigned char {
  word,     ///< letters, in any script, with digits, apostrophes and hyphens within
  number,   ///< digits with points and commas between them
  formula,  ///< what stands between dollars or in \( \) or \[ \], or an environment without them
  command,  ///< of LaTeX, with its arguments
  mark,     ///< of Markdown: emphasis, code, a heading's signs, a quotation's
  bullet,   ///< begins an item of a list
  hashes,   ///< ####, which GSM8K puts before answers
  line,     ///< line break
  stop,     ///< . ! ? and their like
  comma,
  semicolon,
  colon,
  dash,  ///< of any length
  open,
  close,
  quote,
  equals,    ///< = and its like, "approximately equal" among them
  arrow,     ///< to the right
  currency,  ///< also a lone dollar
  ornament,  ///< pictures, ticks, the end of a proof
  sign,      ///< any other character
};

struct Token {
  Kind kind;
  bool spaced;                      ///< white space or a line break stands before it
  std::size_t begin, end;           ///< in the text
  std::size_t inner = 0, last = 0;  ///< what a formula holds
};

/// A text and its tokens in order; white space is none. Linear in the text's length; any bytes are
/// safe.
struct Tokens {
  explicit Tokens(std::string_view given);

  std::string_view text;
  std::string low;  ///< the text with ASCII letters in lower case
  std::vector<Token> all;

  std::size_t size() const { return all.size(); }
  const Token& operator[](std::size_t i) const { return all[i]; }
  bool is(std::size_t i, Kind kind) const { return i < all.size() && all[i].kind == kind; }
  std::string_view word(std::size_t i) const {  ///< in lower case; empty where there is no word
    return is(i, Kind::word) ? std::string_view(low).substr(all[i].begin, all[i].end - all[i].begin)
                             : std::string_view();
  }
  std::string_view spelt(std::size_t i) const {
    return i < all.size() ? text.substr(all[i].begin, all[i].end - all[i].begin)
                          : std::string_view();
  }
  bool is_spaced(std::size_t i) const { return i >= all.size() || all[i].spaced; }
};

}  // namespace rollcall::text
