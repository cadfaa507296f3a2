// The parser's values: literals, names, words, and what stands in brackets.
#include "reward/math/parser.hpp"
#include "reward/math/tree.hpp"
#include "text/prose.hpp"

#include <charconv>
#include <utility>

namespace rollcall::reward::math {
namespace {

mpz_class power_of_ten(unsigned long n) {
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), 10, n);
  return power;
}

/// Digits, a point, an exponent: exactly the number they spell.
mpq_class literal(const std::string& text) {
  const std::size_t e = text.find('e');
  std::string digits = text.substr(0, e);
  long exponent = 0;
  if (e != std::string::npos) {
    const char* first = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
    const auto [end, error] = std::from_chars(first, text.data() + text.size(), exponent);
    if (error != std::errc{} || std::abs(exponent) > long(kMostBits / 4)) exhausted("an exponent of ten beyond what is computed exactly");
  }
  if (const std::size_t point = digits.find('.'); point != std::string::npos) {
    exponent -= long(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  if (digits.size() > kMostBits / 4) exhausted("a number of more digits than are computed exactly");
  mpq_class value(mpz_class(digits.empty() ? "0" : digits, 10));
  if (exponent > 0) value *= power_of_ten(unsigned(exponent));
  if (exponent < 0) value /= power_of_ten(unsigned(-exponent));
  return value;
}

}  // namespace

Node Parser::primary() {
  Level level(depth_);
  count_node();
  switch (token_.kind) {
    case TokenKind::number: return decimal();
    case TokenKind::letter: {
      Node name = symbol(token_.text);
      advance();
      return name;
    }
    case TokenKind::words: {
      std::string words = text::lower(token_.text);
      advance();
      if (words[0] >= '0' && words[0] <= '9' && words.find('\\') == std::string::npos) return parse_answer(words, reading_).root;  // \text{3 apples}
      return {Kind::words, std::move(words), {}, {}};
    }
    case TokenKind::sign: return bracket();
    case TokenKind::command: return command();
    case TokenKind::end: unreadable("it ends too early");
  }
  unreadable("no expression");
}

/// A literal, with the digits that repeat: 0.1\overline{6}.
Node Parser::decimal() {
  const std::string text = token_.text;
  const std::size_t end = token_.end;
  mpq_class value = literal(text);
  advance();
  const std::size_t point = text.find('.');
  if (point != std::string::npos && token_.begin == end && (is_command("overline") || is_command("bar") || is_command("dot"))) {
    advance();
    need("{");
    const std::string period = token_.text;
    if (!is_integer(token_)) unreadable("no digits below the bar");
    advance();
    need("}");
    const mpz_class scale = power_of_ten(text.size() - point - 1);
    mpq_class repeated(mpz_class(period, 10), mpz_class(scale * (power_of_ten(period.size()) - 1)));
    repeated.canonicalize();
    value += repeated;
  }
  return number(std::move(value));
}

Node Parser::bracket() {
  if (is_sign("(") || is_sign("[")) return bracketed();
  if (take("{")) return group();
  if (take("|")) {
    ++bars_;
    Node inside = sum();
    need("|");
    --bars_;
    return call("abs", std::move(inside));
  }
  if (take("$")) return unit_of(factor(), "dollars");
  unreadable("\"" + token_.text + "\" where a value should stand");
}

Node Parser::bracketed() {
  const std::string open = token_.text;
  const int outer = std::exchange(bars_, 0);
  const bool outer_commas = tokens_.enter_brackets(token_.begin);
  advance();
  if (is_sign(")") || is_sign("]")) unreadable("empty brackets");
  Node inside = items();
  bars_ = outer;
  if (!is_sign(")") && !is_sign("]")) unreadable("a bracket that is never closed");
  const std::string close = token_.text;
  tokens_.leave_brackets(outer_commas);
  advance();
  if (inside.kind != Kind::list) {
    if ((open == "(") != (close == ")")) unreadable("brackets that do not match");
    return inside;
  }
  return with(Kind::bracketed, std::move(inside.children), open + close);
}

/// {...} of TeX; with several items it is a set written without backslashes.
Node Parser::group() {
  const int outer = std::exchange(bars_, 0);
  if (take("}")) unreadable("an empty group");
  Node inside = items();
  bars_ = outer;
  need("}");
  return inside.kind == Kind::list ? with(Kind::set, std::move(inside.children)) : inside;
}

Node Parser::set() {
  const int outer = std::exchange(bars_, 1);  // the bar of {x | ...} is none of an absolute value
  if (take_command("}")) return bars_ = outer, with(Kind::set, {});
  const bool outer_condition = std::exchange(in_condition_, true);
  Node inside = items();
  in_condition_ = outer_condition;
  if (take("|") || take(":")) inside = items();  // its condition says it all
  else if (inside.kind == Kind::list) inside = with(Kind::set, std::move(inside.children));
  else inside = node(Kind::set, std::move(inside));
  bars_ = outer;
  if (!take_command("}")) unreadable("a brace that is never closed");
  return inside;
}

/// What a command is given: a group, one digit or one primary.
Node Parser::argument(bool one_digit) {
  if (take("{")) {
    Node inside = items();
    need("}");
    return inside;
  }
  if (one_digit && token_.kind == TokenKind::number) {
    const std::size_t at = token_.begin;
    advance_to(at + 1);
    return number(tokens_.text()[at] - '0');
  }
  return primary();
}

}  // namespace rollcall::reward::math
