// The parser's operators, as signs and as words, and mixed numbers.
#include "reward/math/expression/tree.hpp"
#include "reward/math/parser/grammar.hpp"
#include "reward/math/parser/numerals.hpp"
#include "text/answer/answer_text.hpp"
#include "text/conclusion/prose.hpp"

namespace rollcall::reward::math {
namespace {

Node mixed_with(Node whole, Node fraction) {
  const auto part = [&](std::size_t n) {
    return fraction.children[n].kind == Kind::number ? fraction.children[n].value : std::nullopt;
  };
  const bool is_part =
      fraction.kind == Kind::divide && part(0) && part(1) && *part(0) > 0 && *part(0) < *part(1);
  return node(is_part ? Kind::add : Kind::multiply, std::move(whole), std::move(fraction));
}

/// Whether a value begins after a token. Only then are certain words operators or signs; elsewhere
/// they are things that are counted.
bool is_before_number(Cursor& in, const Token& token) {
  const Token behind = in.tokens().at(token.end);
  if (behind.kind == TokenKind::words) return numeral_at(behind.text).has_value();
  return behind.kind == TokenKind::number || behind.kind == TokenKind::letter ||
         behind.text == "(" || behind.text == "infty" || behind.text == "frac" ||
         behind.text == "sqrt";
}

/// Takes the x of 3 x 10^5. Returns whether it was there.
bool take_letter_for_times(Cursor& in, const Node& before) {
  if (before.kind != Kind::number || in.token().kind != TokenKind::letter || in.token().text != "x")
    return false;
  const Token ten = in.next();
  const bool is_times =
      ten.kind == TokenKind::number && ten.text == "10" && in.tokens().at(ten.end).text == "^";
  if (is_times) in.advance();
  return is_times;
}

}  // namespace

int sign_here(Cursor& in) {
  if (in.token().kind == TokenKind::sign)
    return in.token().text == "+" ? 1 : in.token().text == "-" ? -1 : 0;
  if (in.token().kind != TokenKind::words) return 0;
  const std::string word = text::lower(in.token().text);
  const int sign = word == "plus" || word == "positive"    ? 1
                   : word == "minus" || word == "negative" ? -1
                                                           : 0;
  return sign != 0 && is_before_number(in, in.token()) ? sign : 0;
}

bool take_times(Cursor& in, const Node& before) {
  if (in.take("*") || in.take_command("cdot") || in.take_command("times") ||
      take_letter_for_times(in, before))
    return true;
  return in.is_words("times") && is_before_number(in, in.token()) && in.take_words("times");
}

bool take_division(Cursor& in) {
  if (in.take_command("div") || in.take_words("divided by")) return true;
  if (!in.is_words("divided")) return false;
  const Token by = in.next();
  const bool is_division = in.tokens().run(by.begin) == "by";
  if (is_division) in.advance_to(by.begin + 2);
  return is_division;
}

bool take_numeral_after_and(Cursor& in, Node& value) {
  std::string_view rest = in.is_command("and") ? in.tokens().text().substr(in.token().end)
                          : in.token().kind == TokenKind::words ? std::string_view(in.token().text)
                                                                : std::string_view();
  if (in.is_command("and")) rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  else if (rest.starts_with("and ")) rest.remove_prefix(4);
  else return false;
  const auto part = numeral_at(rest);
  if (!part || part->value <= 0 || part->value >= 1) return false;
  value = node(Kind::add, std::move(value), number(part->value));
  if (in.is_command("and"))
    return in.advance_to(std::size_t(rest.data() - in.tokens().text().data()) + part->size), true;
  in.keep_words(std::string(text::trim(rest.substr(part->size))));
  return true;
}

Node parse_operand(Cursor& in, bool may_be_spaced) {
  bool negative = false;
  while (in.is_sign("+") || in.is_sign("-")) negative ^= in.is_sign("-"), in.advance();
  const bool is_whole = is_integer(in.token());
  Node value = parse_factor(in);
  const bool is_mixed =
      is_whole && value.kind == Kind::number &&
      (in.is_command("frac") ||
       (may_be_spaced && in.token().kind == TokenKind::number && in.token().spaced));
  if (is_mixed && !at_unit(in, value)) value = parse_mixed_number(in, std::move(value));
  return negative ? node(Kind::negate, std::move(value)) : std::move(value);
}

Node parse_mixed_number(Cursor& in, Node whole) {
  if (in.is_command("frac")) {
    Node fraction = parse_factor(in);
    if (fraction.kind == Kind::percent)
      return node(Kind::percent, mixed_with(std::move(whole), std::move(fraction.children[0])));
    return mixed_with(std::move(whole), std::move(fraction));
  }
  Node numerator = parse_primary(in);
  if (!in.take("/") || !is_integer(in.token())) unreadable("two numbers side by side");
  Node denominator = parse_primary(in);
  return node(Kind::add, std::move(whole),
              node(Kind::divide, std::move(numerator), std::move(denominator)));
}

}  // namespace rollcall::reward::math
