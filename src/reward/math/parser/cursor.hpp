// The parser's position in an answer, which all rules of the grammar share.
#pragma once

#include "reward/math/expression/expression.hpp"
#include "reward/math/limits.hpp"
#include "reward/math/parser/tokens.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace rollcall::reward::math {

/// The brackets and bars around the current token, as far as they change the meaning of a sign.
struct Enclosure {
  int bars = 0;               ///< within |...|, where the next bar ends the absolute value
  int brackets = 0;           ///< within brackets, which "]" may end
  bool in_condition = false;  ///< within \{x : ...\}, where a colon is not a ratio
};

/// The ambiguous spellings that the answer contains.
struct Ambiguities {
  bool logarithm = false;    ///< \log without a base
  bool letter_unit = false;  ///< a letter that may be a unit: 5 m
  bool period = false;       ///< 0.5(20) before an equals sign
};

/// The current token of an answer. It limits the nesting of rules and the number of nodes.
class Cursor {
 public:
  /// `text` must outlive the cursor.
  Cursor(std::string_view text, const Reading& reading)
      : tokens_(text, reading.thousands), reading_(reading) {
    advance_to(0);
  }
  const Token& token() const { return token_; }
  Tokens& tokens() { return tokens_; }
  const Tokens& tokens() const { return tokens_; }
  const Reading& reading() const { return reading_; }
  /// The token after the current one.
  Token next() { return tokens_.at(token_.end); }

  bool is_sign(std::string_view sign) const { return is(TokenKind::sign, sign); }
  bool is_command(std::string_view name) const { return is(TokenKind::command, name); }
  bool is_words(std::string_view words) const { return is(TokenKind::words, words); }

  void advance_to(std::size_t byte) { token_ = tokens_.at(byte); }  ///< a byte of the text
  void advance() { advance_to(token_.end); }
  /// Replaces the current token's words by `words`, their end, which is still to be read.
  void keep_words(std::string words) { token_.text = std::move(words); }
  /// Each of these advances past the token if it is the current one, and returns whether it was.
  bool take(std::string_view sign) { return is_sign(sign) && (advance(), true); }
  bool take_command(std::string_view name) { return is_command(name) && (advance(), true); }
  bool take_words(std::string_view words) { return is_words(words) && (advance(), true); }
  /// Throws NoVerdict (unreadable) if this sign is missing.
  void need(std::string_view sign) {
    if (!take(sign)) unreadable("a missing \"" + std::string(sign) + "\"");
  }

  /// Both throw NoVerdict (exhausted) beyond the limits.
  void count_node() {
    if (++nodes_ > kMostNodes) exhausted("more parts than are read");
  }
  void enter_rule() {
    if (++depth_ > kDeepestNesting) exhausted("nested deeper than is read");
  }
  void leave_rule() { --depth_; }

  Enclosure enclosure;
  Ambiguities met;

 private:
  bool is(TokenKind kind, std::string_view text) const {
    return token_.kind == kind && token_.text == text;
  }

  Tokens tokens_;
  Reading reading_;
  Token token_;
  int depth_ = 0;
  std::size_t nodes_ = 0;
};

/// Counts one more nested rule while the object lives. Throws NoVerdict if there are too many.
class Level {
 public:
  explicit Level(Cursor& cursor) : cursor_(cursor) { cursor_.enter_rule(); }
  ~Level() { cursor_.leave_rule(); }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  Cursor& cursor_;
};

inline bool is_integer(const Token& token) {
  return token.kind == TokenKind::number &&
         token.text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace rollcall::reward::math
