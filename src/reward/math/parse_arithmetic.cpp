// The parser's arithmetic: sums, products, powers, and what stands behind a value.
#include "reward/math/numerals.hpp"
#include "reward/math/parser.hpp"
#include "reward/math/tree.hpp"
#include "reward/math/units.hpp"
#include "text/conclusion/prose.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace rollcall::reward::math {
namespace {

using Terms = std::vector<Node>;

/// A unit behind the last term alone is the unit of all: 6 + 3\sqrt{3} cm. Less a set is the
/// difference of sets: R - {0}.
Node added(Terms terms, Kind kind) {
  Node& last = terms.back();
  Node& moved = last.kind == Kind::negate ? last.children[0] : last;
  if (terms.size() == 2 && last.kind == Kind::negate && moved.kind == Kind::set)
    return with(Kind::join, {std::move(terms[0]), std::move(moved)}, "-");
  if (moved.kind != Kind::unit || std::any_of(terms.begin(), terms.end() - 1, has_unit))
    return with(kind, std::move(terms));
  std::string unit = std::move(moved.text);
  moved = Node(std::move(moved.children[0]));
  return unit_of(with(kind, std::move(terms)), std::move(unit));
}

}  // namespace

/// With what TeX writes between the parts of a fraction or a binomial: {a \over b}, {5 \choose 2}.
Node Parser::sum() {
  Node top = terms();
  if (take_command("over")) return node(Kind::divide, std::move(top), terms());
  return take_command("choose") ? call("binomial", std::move(top), terms()) : std::move(top);
}

Node Parser::terms() {
  Level level(depth_);
  count_node();
  Node total = signed_product();
  Terms all;
  for (;;) {
    if (sign_here() != 0) {
      if (all.empty()) all.push_back(std::move(total));
      all.push_back(signed_product());
    } else if (is_command("pm") || is_command("mp")) {
      std::string sign = token_.text;
      advance();
      if (total.kind == Kind::plus_minus) unsupported("more than one plus-minus");
      total = added(all.empty() ? Terms{std::move(total), product()}
                                : Terms{with(Kind::add, std::move(all)), product()},
                    Kind::plus_minus);
      (total.kind == Kind::unit ? total.children[0] : total).text = std::move(sign);
      all.clear();
    } else {
      return all.empty() ? std::move(total) : added(std::move(all), Kind::add);
    }
  }
}

Node Parser::signed_product() {
  bool negative = false;
  for (int sign = sign_here(); sign != 0; sign = sign_here()) negative ^= sign < 0, advance();
  if (is_command("pm") || is_command("mp")) {
    std::string sign = token_.text;
    advance();
    Node value = node(Kind::plus_minus, product());
    value.text = std::move(sign);
    return value;
  }
  Node value = product();
  return negative ? node(Kind::negate, std::move(value)) : std::move(value);
}

bool Parser::at_factor() const {
  switch (token_.kind) {
    case TokenKind::number:
    case TokenKind::letter: return true;
    case TokenKind::words:
      return token_.text != "and" && token_.text != "or" && token_.text != "to" &&
             token_.text != "plus" && token_.text != "minus";
    case TokenKind::sign: return is_sign("(") || is_sign("{") || (is_sign("|") && bars_ == 0);
    case TokenKind::command: {
      constexpr std::string_view kOthers[] = {
          "and", "or",   "}",      "\\",    "end",  "cup",    "cap", "setminus", "pm",
          "mp",  "in",   "rfloor", "rceil", "cdot", "times",  "div", "degree",   "prime",
          "%",   "over", "choose", "ldots", "euro", "pounds", "yen"};
      return !holds(kOthers, token_.text) && relation_sign() == 0;
    }
    case TokenKind::end: return false;
  }
  return false;
}

Node Parser::product() {
  bool only_integer = is_integer(token_), after_number = false;
  const auto next = [&] {  // after_number: digits would run on in digits
    const bool is_literal = token_.kind == TokenKind::number;
    Node made = factor();
    after_number = is_literal && made.kind == Kind::number;
    return made;
  };
  Node value = next();
  bool has_unit = value.kind == Kind::unit;
  for (;;) {
    count_node();
    if (value.kind == Kind::words && value.text.starts_with("all real") &&
        (value.text.ends_with("except") || value.text.ends_with("except for"))) {
      return all_except();
    } else if (value.kind == Kind::unit && is_sign("/") &&
               (take_unit_sign(value.text), !is_sign("/"))) {  // $3/hour
      value = with_unit(std::move(value));
    } else if (at_unit_below(value)) {
      advance();
      value = with_unit(unit_of(std::move(value), "/"));
    } else if (take_times(value)) {
      value = times(std::move(value), operand(true));
    } else if (const bool is_line = take("/"); is_line || take_division()) {
      value = node(Kind::divide, std::move(value), operand(!is_line));
    } else if (value.kind == Kind::degrees && token_.kind == TokenKind::number) {
      value = with_arc(std::move(value));
    } else if (value.kind == Kind::number && take_numeral_behind_and(value)) {
      after_number = false;
    } else if (only_integer && value.kind == Kind::number &&
               ((is_command("frac") && !at_unit(value)) ||
                (token_.kind == TokenKind::number && token_.spaced))) {
      value = mixed(std::move(value));
    } else if (value.kind == Kind::words && token_.kind == TokenKind::number) {  // June 20
      value.text += ' ' + token_.text;
      advance();
    } else if (at_unit(value)) {
      // 3 cm * 4 cm
      Node& behind = has_unit && value.kind != Kind::unit ? value.children.back() : value;
      behind = with_unit(std::move(behind));
      has_unit |= behind.kind == Kind::unit;
    } else if (at_factor()) {
      if (token_.kind == TokenKind::number && after_number) unreadable("two numbers side by side");
      if (has_unit) {  // 1 hour 30 minutes
        if (token_.kind != TokenKind::number) unreadable("a value behind a unit");
        Node part = factor();
        if (!at_unit(part)) unreadable("a value behind a unit");
        value = node(Kind::add, std::move(value), with_unit(std::move(part)));
      } else {
        value = times(std::move(value), next());
      }
      only_integer = false;
      continue;
    } else {
      return value;
    }
    only_integer = after_number = false;
  }
}

Node Parser::exponent() {
  Level level(depth_);
  if (is_sign("{")) {
    advance();
    if (is_sign("}")) unreadable("an empty exponent");
    Node inside = sum();
    need("}");
    return inside;
  }
  bool negative = false;
  while (is_sign("-") || is_sign("+")) negative ^= is_sign("-"), advance();
  Node value = factor();
  return negative ? node(Kind::negate, std::move(value)) : std::move(value);
}

/// "^\circ" and "^{\circ}" at the caret; "^o" too behind a literal.
bool Parser::take_degree(bool behind_literal) {
  const std::size_t start = token_.begin;
  if (!is_sign("^")) return take_command("degree");
  advance();
  const bool braced = take("{");
  const bool is_letter = behind_literal && token_.kind == TokenKind::letter && token_.text == "o";
  if (is_letter) advance();
  if (is_letter || take_command("circ") || take_command("degree")) {
    if (braced) need("}");
    return true;
  }
  advance_to(start);
  return false;
}

/// (2516)_8, up to the index.
bool Parser::take_digits_in_brackets(std::string& digits) {
  if (!is_sign("(")) return false;
  const Token literal = tokens_.at(token_.end);
  if (!is_integer(literal)) return false;
  const Token close = tokens_.at(literal.end);
  if (close.text != ")" || tokens_.at(close.end).text != "_") return false;
  digits = literal.text;
  advance_to(close.end);
  return true;
}

/// A primary with what is written behind it.
Node Parser::factor() {
  std::string digits;  // of a literal, to which an index may give a base
  if (!take_digits_in_brackets(digits) && token_.kind == TokenKind::number) digits = token_.text;
  const bool is_literal = !digits.empty();
  Node value = is_sign("_") && is_literal ? number(mpq_class(mpz_class(digits, 10))) : primary();
  if (is_literal) value = with_infix(std::move(value));
  for (;;) {
    count_node();
    if (take_degree(is_literal)) {
      const std::string scale = token_.kind == TokenKind::letter || token_.kind == TokenKind::words
                                    ? unit_word(token_)
                                    : std::string();
      const bool is_celsius = scale == "C" || text::lower(scale) == "celsius";
      if (is_celsius || scale == "F" || text::lower(scale) == "fahrenheit") {
        advance();
        return unit_of(std::move(value), is_celsius ? "celsius" : "fahrenheit");
      }
      value = node(Kind::degrees, std::move(value));
    } else if (is_sign("^") ||
               (is_sign("*") && tokens_.text().substr(token_.end).starts_with('*'))) {
      if (is_sign("*")) advance();
      advance();
      if (is_command("prime")) unsupported("a derivative");
      value = raised(std::move(value), exponent());
    } else if (is_sign("!") && (relation_sign() == 0 ||
                                (is_literal && value.kind == Kind::number))) {  // 4!=24, but x!=2
      advance();
      if (is_sign("!") && relation_sign() == 0) unsupported("a double factorial");
      value = call("factorial", std::move(value));
    } else if (take("%")) {
      value = node(Kind::percent, std::move(value));
    } else if (is_sign("_")) {
      advance();
      value = with_index(std::move(value), digits);
    } else if (is_sign("'") || is_command("prime")) {
      if (value.kind != Kind::symbol) unreadable("a prime behind what is no name");
      value.text += "'";
      advance();
    } else {
      return value;
    }
  }
}

/// x_1, x_{max}, or the base of 1011_2.
Node Parser::with_index(Node value, const std::string& digits) {
  std::string index;
  if (is_sign("{")) {
    const std::size_t close = group_end(tokens_.text(), token_.begin);
    if (close == std::string_view::npos) unreadable("a brace that is never closed");
    for (const char c : tokens_.text().substr(token_.begin + 1, close - token_.begin - 2))
      if (std::isspace(static_cast<unsigned char>(c)) == 0 && c != '{' && c != '}') index += c;
    advance_to(close);
  } else {
    index = token_.text;
    advance();
  }
  if (index.starts_with("\\text")) index = index.substr(5);
  if (value.kind == Kind::symbol) return symbol(value.text + "_" + index);
  if (auto chosen = choices(value, index)) return *chosen;
  const auto word = find_numeral(index);
  int base = word && word->get_den() == 1 && *word <= 36 ? int(word->get_num().get_si()) : 0;
  const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), base);
  const bool is_word = base > 0 && end == index.data();
  if (digits.empty() ||
      (!is_word && (error != std::errc{} || end != index.data() + index.size())) || base < 2 ||
      base > 36)
    unreadable("an index behind what is no name");
  mpz_class converted;
  if (converted.set_str(digits, base) != 0) unreadable("digits that the base does not have");
  Node made{Kind::based, digits, mpq_class(converted), {}};
  return made;
}

}  // namespace rollcall::reward::math
