// A position in a template's tokens.
#pragma once

#include "text/jinja/syntax/lexer.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text::jinja {

/// Reads tokens in order, and never moves past the last one, `end`. The functions that expect a
/// token throw Fault with the current token's place if that token is a different one.
class TokenCursor {
 public:
  explicit TokenCursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  const Token& previous() const { return tokens_[at_ - 1]; }  ///< valid after the first take()
  /// Returns the current token and moves past it.
  const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }

  bool is(TokenKind kind) const { return current().kind == kind; }
  bool is_op(std::string_view op) const { return is(TokenKind::op) && current().text == op; }
  bool is_name(std::string_view name) const {
    return is(TokenKind::name) && current().text == name;
  }
  bool take_op(std::string_view op);      ///< whether the operator was there; then moves past it
  bool take_name(std::string_view name);  ///< whether the name was there; then moves past it
  void expect_op(std::string_view op);
  void expect_name(std::string_view name);
  void expect(TokenKind kind, std::string_view what);  ///< `what`: the kind's name in messages
  std::string expect_any_name();

  [[noreturn]] void fail(std::string problem) const;  ///< a syntax Fault at the current token

 private:
  [[noreturn]] void fail_expected(std::string_view what) const;

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

[[noreturn]] inline void fail_at(const Place& place, std::string problem) {
  throw Fault{FaultKind::syntax, std::move(problem), place};
}

}  // namespace rollcall::text::jinja
