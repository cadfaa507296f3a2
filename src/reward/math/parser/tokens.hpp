// Cuts an answer in LaTeX or plain text into tokens.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace rollcall::reward::math {

enum class TokenKind {
  end,
  /// Text: digits, at most one point, no separators; scientific notation with its exponent.
  number,
  letter,  ///< text: one letter
  /// Text: a name without the backslash. Plain words and Unicode symbols become commands if they
  /// mean one.
  command,
  words,  ///< text: the content of \text{...}, or a plain word
  sign    ///< text: one character
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  std::size_t begin = 0, end = 0;  ///< positions in the answer, in bytes
  bool spaced = false;             ///< whether white space precedes it
};

class Tokens {
 public:
  Tokens(std::string_view text, bool thousands) : text_(text), thousands_(thousands) {}
  /// The token that begins at byte `at`, or after white space there. Any bytes are safe.
  Token at(std::size_t at);
  std::string_view run(std::size_t at) const;  ///< the letters from byte `at` on
  /// From now on reads commas as the brackets that open at byte `at` use them. Returns the argument
  /// for leave_brackets().
  bool enter_brackets(std::size_t at);
  void leave_brackets(bool outer) { thousands_ = outer; }
  std::string_view text() const { return text_; }
  bool saw_thousands() const { return saw_thousands_; }

 private:
  std::size_t skip(std::size_t at, bool& spaced) const;
  Token number(std::size_t at);
  Token backslash(std::size_t at);
  Token word(std::size_t at) const;
  std::size_t word_end(std::size_t at) const;
  bool is_behind_value(std::size_t at) const;
  std::size_t thousands_end(std::size_t at, std::string& digits);

  std::string_view text_;
  bool thousands_, saw_thousands_ = false;
};

template <class Table>
bool holds(const Table& table, std::string_view name) {
  return std::find(std::begin(table), std::end(table), name) != std::end(table);
}

/// The position after the "}" of the group whose "{" is at byte `at`; npos if it does not end.
std::size_t group_end(std::string_view text, std::size_t at);
bool is_unit_word(std::string_view word);    ///< cm, km, mph, ...
bool is_letter_unit(std::string_view word);  ///< m, g, s, ...
/// whether it is a function of one argument: sin, exp, ...
bool is_function(std::string_view name);

}  // namespace rollcall::reward::math
