// The parser's arithmetic: sums, products, powers, and suffixes of a value.
#include "reward/math/expression/tree.hpp"
#include "reward/math/parser/grammar.hpp"
#include "reward/math/parser/numerals.hpp"
#include "reward/math/parser/units.hpp"
#include "text/conclusion/prose.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace rollcall::reward::math {
namespace {

using Terms = std::vector<Node>;

/// A sum or difference of terms. A unit after only the last term is the unit of all terms: 6 +
/// 3\sqrt{3} cm. Subtracting a set gives a set difference: R - {0}.
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

Node parse_product(Cursor& in) {
  bool only_integer = is_integer(in.token()), after_number = false;
  const auto next = [&] {  // after_number: digits after the factor would continue its number
    const bool is_literal = in.token().kind == TokenKind::number;
    Node made = parse_factor(in);
    after_number = is_literal && made.kind == Kind::number;
    return made;
  };
  Node value = next();
  bool has_unit = value.kind == Kind::unit;
  for (;;) {
    in.count_node();
    if (value.kind == Kind::words && value.text.starts_with("all real") &&
        (value.text.ends_with("except") || value.text.ends_with("except for"))) {
      return parse_all_except(in);
    } else if (value.kind == Kind::unit && in.is_sign("/") &&
               (take_unit_sign(in, value.text), !in.is_sign("/"))) {  // $3/hour
      value = with_unit(in, std::move(value));
    } else if (at_unit_below(in, value)) {
      in.advance();
      value = with_unit(in, unit_of(std::move(value), "/"));
    } else if (take_times(in, value)) {
      value = times(std::move(value), parse_operand(in, true));
    } else if (const bool is_line = in.take("/"); is_line || take_division(in)) {
      value = node(Kind::divide, std::move(value), parse_operand(in, !is_line));
    } else if (value.kind == Kind::degrees && in.token().kind == TokenKind::number) {
      value = with_arc(in, std::move(value));
    } else if (value.kind == Kind::number && take_numeral_after_and(in, value)) {
      after_number = false;
    } else if (only_integer && value.kind == Kind::number &&
               ((in.is_command("frac") && !at_unit(in, value)) ||
                (in.token().kind == TokenKind::number && in.token().spaced))) {
      value = parse_mixed_number(in, std::move(value));
    } else if (value.kind == Kind::words && in.token().kind == TokenKind::number) {  // June 20
      value.text += ' ' + in.token().text;
      in.advance();
    } else if (at_unit(in, value)) {
      // In 3 cm * 4 cm the second unit belongs to the second factor.
      Node& behind = has_unit && value.kind != Kind::unit ? value.children.back() : value;
      behind = with_unit(in, std::move(behind));
      has_unit |= behind.kind == Kind::unit;
    } else if (at_factor(in)) {
      if (in.token().kind == TokenKind::number && after_number)
        unreadable("two numbers side by side");
      if (has_unit) {  // 1 hour 30 minutes
        if (in.token().kind != TokenKind::number) unreadable("a value behind a unit");
        Node part = parse_factor(in);
        if (!at_unit(in, part)) unreadable("a value behind a unit");
        value = node(Kind::add, std::move(value), with_unit(in, std::move(part)));
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

Node parse_signed_product(Cursor& in) {
  bool negative = false;
  for (int sign = sign_here(in); sign != 0; sign = sign_here(in))
    negative ^= sign < 0, in.advance();
  if (in.is_command("pm") || in.is_command("mp")) {
    std::string sign = in.token().text;
    in.advance();
    Node value = node(Kind::plus_minus, parse_product(in));
    value.text = std::move(sign);
    return value;
  }
  Node value = parse_product(in);
  return negative ? node(Kind::negate, std::move(value)) : std::move(value);
}

Node parse_terms(Cursor& in) {
  const Level level(in);
  in.count_node();
  Node total = parse_signed_product(in);
  Terms all;
  for (;;) {
    if (sign_here(in) != 0) {
      if (all.empty()) all.push_back(std::move(total));
      all.push_back(parse_signed_product(in));
    } else if (in.is_command("pm") || in.is_command("mp")) {
      std::string sign = in.token().text;
      in.advance();
      if (total.kind == Kind::plus_minus) unsupported("more than one plus-minus");
      total = added(all.empty() ? Terms{std::move(total), parse_product(in)}
                                : Terms{with(Kind::add, std::move(all)), parse_product(in)},
                    Kind::plus_minus);
      (total.kind == Kind::unit ? total.children[0] : total).text = std::move(sign);
      all.clear();
    } else {
      return all.empty() ? std::move(total) : added(std::move(all), Kind::add);
    }
  }
}

/// Takes "^\circ" and "^{\circ}" at the caret; after a literal also "^o". Returns whether it was
/// there.
bool take_degree(Cursor& in, bool behind_literal) {
  const std::size_t start = in.token().begin;
  if (!in.is_sign("^")) return in.take_command("degree");
  in.advance();
  const bool braced = in.take("{");
  const bool is_letter =
      behind_literal && in.token().kind == TokenKind::letter && in.token().text == "o";
  if (is_letter) in.advance();
  if (is_letter || in.take_command("circ") || in.take_command("degree")) {
    if (braced) in.need("}");
    return true;
  }
  in.advance_to(start);
  return false;
}

/// Takes the digits of (2516)_8 with their brackets, up to the index. Returns whether they were
/// there.
bool take_digits_in_brackets(Cursor& in, std::string& digits) {
  if (!in.is_sign("(")) return false;
  const Token literal = in.next();
  if (!is_integer(literal)) return false;
  const Token close = in.tokens().at(literal.end);
  if (close.text != ")" || in.tokens().at(close.end).text != "_") return false;
  digits = literal.text;
  in.advance_to(close.end);
  return true;
}

/// Reads an index: of a name (x_1, x_{max}), or the base of a literal (1011_2).
Node with_index(Cursor& in, Node value, const std::string& digits) {
  std::string index;
  if (in.is_sign("{")) {
    const std::size_t close = group_end(in.tokens().text(), in.token().begin);
    if (close == std::string_view::npos) unreadable("a brace that is never closed");
    for (const char c :
         in.tokens().text().substr(in.token().begin + 1, close - in.token().begin - 2))
      if (std::isspace(static_cast<unsigned char>(c)) == 0 && c != '{' && c != '}') index += c;
    in.advance_to(close);
  } else {
    index = in.token().text;
    in.advance();
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

}  // namespace

Node parse_sum(Cursor& in) {
  Node top = parse_terms(in);
  if (in.take_command("over")) return node(Kind::divide, std::move(top), parse_terms(in));
  return in.take_command("choose") ? call("binomial", std::move(top), parse_terms(in))
                                   : std::move(top);
}

bool at_factor(const Cursor& in) {
  switch (in.token().kind) {
    case TokenKind::number:
    case TokenKind::letter: return true;
    case TokenKind::words:
      return in.token().text != "and" && in.token().text != "or" && in.token().text != "to" &&
             in.token().text != "plus" && in.token().text != "minus";
    case TokenKind::sign:
      return in.is_sign("(") || in.is_sign("{") || (in.is_sign("|") && in.enclosure.bars == 0);
    case TokenKind::command: {
      constexpr std::string_view kOthers[] = {
          "and", "or",   "}",      "\\",    "end",  "cup",    "cap", "setminus", "pm",
          "mp",  "in",   "rfloor", "rceil", "cdot", "times",  "div", "degree",   "prime",
          "%",   "over", "choose", "ldots", "euro", "pounds", "yen"};
      return !holds(kOthers, in.token().text) && relation_sign(in) == 0;
    }
    case TokenKind::end: return false;
  }
  return false;
}

Node parse_exponent(Cursor& in) {
  const Level level(in);
  if (in.is_sign("{")) {
    in.advance();
    if (in.is_sign("}")) unreadable("an empty exponent");
    Node inside = parse_sum(in);
    in.need("}");
    return inside;
  }
  bool negative = false;
  while (in.is_sign("-") || in.is_sign("+")) negative ^= in.is_sign("-"), in.advance();
  Node value = parse_factor(in);
  return negative ? node(Kind::negate, std::move(value)) : std::move(value);
}

Node parse_factor(Cursor& in) {
  std::string digits;  // digits of a literal, to which an index may give a base
  if (!take_digits_in_brackets(in, digits) && in.token().kind == TokenKind::number)
    digits = in.token().text;
  const bool is_literal = !digits.empty();
  Node value =
      in.is_sign("_") && is_literal ? number(mpq_class(mpz_class(digits, 10))) : parse_primary(in);
  if (is_literal) value = with_infix_choices(in, std::move(value));
  for (;;) {
    in.count_node();
    if (take_degree(in, is_literal)) {
      const std::string scale =
          in.token().kind == TokenKind::letter || in.token().kind == TokenKind::words
              ? unit_word(in, in.token())
              : std::string();
      const bool is_celsius = scale == "C" || text::lower(scale) == "celsius";
      if (is_celsius || scale == "F" || text::lower(scale) == "fahrenheit") {
        in.advance();
        return unit_of(std::move(value), is_celsius ? "celsius" : "fahrenheit");
      }
      value = node(Kind::degrees, std::move(value));
    } else if (in.is_sign("^") ||
               (in.is_sign("*") && in.tokens().text().substr(in.token().end).starts_with('*'))) {
      if (in.is_sign("*")) in.advance();
      in.advance();
      if (in.is_command("prime")) unsupported("a derivative");
      value = raised(std::move(value), parse_exponent(in));
    } else if (in.is_sign("!") &&
               (relation_sign(in) == 0 ||
                (is_literal && value.kind == Kind::number))) {  // 4!=24, but x!=2
      in.advance();
      if (in.is_sign("!") && relation_sign(in) == 0) unsupported("a double factorial");
      value = call("factorial", std::move(value));
    } else if (in.take("%")) {
      value = node(Kind::percent, std::move(value));
    } else if (in.is_sign("_")) {
      in.advance();
      value = with_index(in, std::move(value), digits);
    } else if (in.is_sign("'") || in.is_command("prime")) {
      if (value.kind != Kind::symbol) unreadable("a prime behind what is no name");
      value.text += "'";
      in.advance();
    } else {
      return value;
    }
  }
}

}  // namespace rollcall::reward::math
