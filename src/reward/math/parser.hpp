// The parser: recursive descent over tokens, its depth and its nodes counted.
#pragma once

#include "reward/math/expression.hpp"
#include "reward/math/limits.hpp"
#include "reward/math/tokens.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward::math {

class Parser {
 public:
  Parser(std::string_view text, const Reading& reading)
      : tokens_(text, reading.thousands), reading_(reading) {
    advance_to(0);
  }
  Parsed whole();

 private:
  struct Level {  ///< counts the nesting while it lives
    explicit Level(int& depth) : depth_(depth) {
      if (++depth_ > kDeepestNesting) exhausted("nested deeper than is read");
    }
    ~Level() { --depth_; }
    int& depth_;
  };

  void advance_to(std::size_t at) { token_ = tokens_.at(at); }
  void advance() { advance_to(token_.end); }
  bool is_sign(std::string_view s) const {
    return token_.kind == TokenKind::sign && token_.text == s;
  }
  bool is_command(std::string_view s) const {
    return token_.kind == TokenKind::command && token_.text == s;
  }
  bool is_integer(const Token& t) const {
    return t.kind == TokenKind::number &&
           t.text.find_first_not_of("0123456789") == std::string::npos;
  }
  bool take(std::string_view sign) {
    if (!is_sign(sign)) return false;
    advance();
    return true;
  }
  bool take_command(std::string_view name) {
    if (!is_command(name)) return false;
    advance();
    return true;
  }
  bool is_words(std::string_view s) const {
    return token_.kind == TokenKind::words && token_.text == s;
  }
  bool take_words(std::string_view s) {
    if (!is_words(s)) return false;
    advance();
    return true;
  }
  void need(std::string_view sign) {
    if (!take(sign)) unreadable("a missing \"" + std::string(sign) + "\"");
  }
  void count_node() {
    if (++nodes_ > kMostNodes) exhausted("more parts than are read");
  }

  // parse.cpp
  bool at_separator() const;
  bool at_close() const;
  Node items();
  char relation_sign() const;
  Node relation();
  Node ratio();
  Node join();
  // parse_arithmetic.cpp
  Node sum();
  Node terms();
  Node signed_product();
  bool at_factor() const;
  Node product();
  Node exponent();
  bool take_degree(bool behind_literal);
  Node factor();
  bool take_digits_in_brackets(std::string& digits);
  Node with_index(Node value, const std::string& digits);
  // parse_operators.cpp
  bool is_before_number(const Token& token);
  int sign_here();
  bool take_times(const Node& before);
  bool take_letter_for_times(const Node& before);
  bool take_division();
  bool take_numeral_behind_and(Node& value);
  Node operand(bool may_be_spaced);
  Node mixed(Node whole);
  // parse_choices.cpp
  Node letter();
  Node prescript();
  Node with_infix(Node all);
  // parse_units.cpp
  bool at_unit(const Node& value);
  Node with_unit(Node value);
  static Node with_words(Node value, std::string words);
  const char* currency() const;
  bool at_unit_word(bool is_first);
  void take_unit_power(std::string& unit);
  void take_unit_sign(std::string& unit);
  std::string unit_fraction();
  std::string unit_word(const Token& token) const;
  bool at_bracketed_unit() const;
  bool at_unit_below(const Node& value);
  Node with_arc(Node degrees);
  // parse_values.cpp
  Node primary();
  Node worded();
  static std::optional<Node> named_by_words(std::string_view words);
  Node all_except();
  Node decimal();
  std::string period(const std::string& places);
  Node bracket();
  Node bracketed();
  Node group();
  Node condition(const Node& element);
  Node set();
  Node argument(bool one_digit);
  // parse_commands.cpp
  Node command();
  Node root(bool cubic);
  Node function(std::string name);
  Node function_argument();
  std::string environment();
  Node matrix();

  Tokens tokens_;
  Reading reading_;
  Token token_;
  int depth_ = 0, bars_ = 0, brackets_ = 0;
  std::size_t nodes_ = 0, unit_fraction_end_ = 0;
  bool saw_logarithm_ = false, saw_letter_unit_ = false, saw_period_ = false, in_condition_ = false;
};

}  // namespace rollcall::reward::math
