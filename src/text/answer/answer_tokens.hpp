// Divides a response into words, numbers, formulas and marks, for the reader of announcements.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

enum class Kind : unsigned char {
  word,     ///< letters of any script, with digits, apostrophes and hyphens inside
  number,   ///< digits with points and commas between them
  formula,  ///< text between dollars, in \( \) or \[ \], or in a LaTeX environment
  command,  ///< a LaTeX command with its arguments
  mark,     ///< a Markdown mark for emphasis, code, a heading or a quotation
  bullet,   ///< the beginning of a list item
  hashes,   ///< ####, which GSM8K puts before answers
  line,     ///< a line break
  stop,     ///< . ! ? and similar signs
  comma,
  semicolon,
  colon,
  dash,  ///< a dash of any length, or a minus
  open,
  close,
  quote,
  equals,    ///< = and similar signs, also "approximately equal"
  arrow,     ///< an arrow to the right
  currency,  ///< a currency sign, including a dollar that does not begin a formula
  ornament,  ///< a picture, a tick, or the end of a proof
  sign,      ///< any other character
};

struct Token {
  Kind kind;
  bool spaced;                      ///< whether white space, a line break or the text's beginning
                                    ///< precedes it
  std::size_t begin, end;           ///< bytes [begin, end) of the text
  std::size_t inner = 0, last = 0;  ///< a formula's bytes [inner, last) without its delimiters
};

/// A text and its tokens in order. White space is not a token. Takes time linear in the text's
/// length, and accepts any bytes. All functions except [] accept positions after the last token.
struct Tokens {
  explicit Tokens(std::string_view given);

  std::string_view text;
  std::string low;  ///< the text with ASCII letters in lower case
  std::vector<Token> all;

  std::size_t size() const { return all.size(); }
  const Token& operator[](std::size_t i) const { return all[i]; }
  bool is(std::size_t i, Kind kind) const { return i < all.size() && all[i].kind == kind; }
  std::string_view word(std::size_t i) const {  ///< in lower case; empty if the token is not a word
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
