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
  number,   ///< text: digits, one point at most, no separators; exponent of scientific notation in
            ///< it
  letter,   ///< text: one letter
  command,  ///< text: a name without the backslash; plain words and symbols of Unicode become
            ///< commands where they mean one
  words,    ///< text: what \text{...} holds, or a plain word
  sign      ///< text: one character
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  std::size_t begin = 0, end = 0;  ///< bytes of the answer
  bool spaced = false;             ///< white space stands before it
};

class Tokens {
 public:
  Tokens(std::string_view text, bool thousands) : text_(text), thousands_(thousands) {}
  /// The token that begins at `at` or behind white space there. Any bytes are safe.
  Token at(std::size_t at);
  std::string_view run(std::size_t at) const;  ///< the letters from there on
  /// Reads commas within brackets, which open at `at`, as they are written there. Returns what
  /// leave_brackets() is to be given.
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

/// The end of the group whose "{" is at `at` (one behind its "}"); npos where it does not end.
std::size_t group_end(std::string_view text, std::size_t at);
bool is_unit_word(std::string_view word);    ///< cm, km, mph, ...
bool is_letter_unit(std::string_view word);  ///< m, g, s, ...
bool is_function(std::string_view name);     ///< of one argument: sin, exp, ...

}  // namespace rollcall::reward::math
