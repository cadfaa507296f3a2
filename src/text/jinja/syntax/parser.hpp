// The parser's state and its grammar; the grammar is that of Jinja's parser, tag by tag and level
// by level.
#pragma once

#include "text/jinja/syntax/lexer.hpp"
#include "text/jinja/syntax/syntax.hpp"

#include <map>

namespace rollcall::text::jinja {

class Parser {
 public:
  explicit Parser(std::string_view source);
  Template run();

 private:
  struct Nested;  // one level more of what stands inside another
  struct Unknown {
    Fault fault;
    bool hard;  // stands in a body of its own: Jinja refuses it even where a condition stands
                // around that body
  };

  // Tokens.
  const Token& current() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is_op(std::string_view op) const {
    return current().kind == TokenKind::op && current().text == op;
  }
  bool is_name(std::string_view name) const {
    return current().kind == TokenKind::name && current().text == name;
  }
  bool take_op(std::string_view op);
  bool take_name(std::string_view name);
  void expect_op(std::string_view op);
  void expect_name(std::string_view name);
  void expect(TokenKind kind, const char* what);
  std::string any_name();
  [[noreturn]] void fail_at(const Place& place, std::string problem) const;
  int symbol(const std::string& name);

  // Statements (parser_statements.cpp).
  // up to the tag, whose name is then current
  Block block(std::initializer_list<std::string_view> ends);
  Block tag_body(std::initializer_list<std::string_view> ends, bool own_frame);
  Statement statement();
  Statement for_statement();
  Statement if_statement();
  Statement set_statement();
  Statement macro_statement();
  Statement call_statement();
  Statement filter_statement();
  Statement with_statement();
  Statement generation_statement();
  Statement loop_control(StatementKind kind);
  void print_statement(Block& out);
  Signature signature();
  Block macro_body(std::string_view end, Signature& s);
  void soften(std::size_t from);
  void harden(std::size_t from);

  // Expressions (parser.cpp).
  ExpressionPtr make(ExpressionKind kind, const Place& place,
                     std::vector<ExpressionPtr> parts = {});
  ExpressionPtr target(bool with_namespace, bool until_in);
  void check_target(const Expression& e) const;
  ExpressionPtr tuple(bool with_condition, std::initializer_list<std::string_view> ends = {},
                      bool parentheses = false);
  ExpressionPtr expression(bool with_condition = true);
  ExpressionPtr conditional();
  ExpressionPtr either();
  ExpressionPtr both();
  ExpressionPtr negation();
  ExpressionPtr compare();
  ExpressionPtr sum();
  ExpressionPtr concat();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filter = true);
  ExpressionPtr primary(bool with_namespace = false);
  ExpressionPtr name_or_constant(bool with_namespace);
  ExpressionPtr literal();
  ExpressionPtr list_or_dict(bool dict);
  ExpressionPtr postfix(ExpressionPtr e);
  ExpressionPtr filter_expression(ExpressionPtr e);
  ExpressionPtr subscript(ExpressionPtr e);
  ExpressionPtr subscribed(ExpressionPtr object, const Place& place);
  ExpressionPtr call(ExpressionPtr callee);
  // value null: the body of a block
  ExpressionPtr filter(ExpressionPtr value, bool inline_first = false);
  ExpressionPtr test(ExpressionPtr value);
  std::string dotted_name();
  std::unique_ptr<ArgumentList> arguments();
  void finish(Expression& e, std::span<const Row> rows, const char* what);

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  int loops_ = 0, fors_ = 0;  // around this place: loops that a break would end; tags `for`,
                              // through macros too
  std::map<std::string, int> symbols_;
  std::vector<Signature*> macros_;  // those whose bodies are being read
  std::vector<Unknown> unknown_;    // filters and tests
};

}  // namespace rollcall::text::jinja
