// The parser's operators, as signs and as words, and mixed numbers.
#include "reward/math/numerals.hpp"
#include "reward/math/parser.hpp"
#include "reward/math/tree.hpp"
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

}  // namespace

/// A factor behind an operator, with its sign, which may be a mixed number: 2 * -3, 2 \times
/// 1\frac{1}{2}, and 2 * 1 1/2 where it may be spaced.
Node Parser::operand(bool may_be_spaced) {
  bool negative = false;
  while (is_sign("+") || is_sign("-")) negative ^= is_sign("-"), advance();
  const bool is_whole = is_integer(token_);
  Node value = factor();
  const bool is_mixed =
      is_whole && value.kind == Kind::number &&
      (is_command("frac") || (may_be_spaced && token_.kind == TokenKind::number && token_.spaced));
  if (is_mixed && !at_unit(value)) value = mixed(std::move(value));
  return negative ? node(Kind::negate, std::move(value)) : std::move(value);
}

/// Whether what follows a token is, or begins, a value: words are operators and signs there, and
/// things that are counted elsewhere.
bool Parser::is_before_number(const Token& token) {
  const Token behind = tokens_.at(token.end);
  if (behind.kind == TokenKind::words) return numeral_at(behind.text).has_value();
  return behind.kind == TokenKind::number || behind.kind == TokenKind::letter ||
         behind.text == "(" || behind.text == "infty" || behind.text == "frac" ||
         behind.text == "sqrt";
}

/// 1 or -1 at a sign, which may be a word: "negative 5", "5 plus 3". 0 elsewhere.
int Parser::sign_here() {
  if (token_.kind == TokenKind::sign) return token_.text == "+" ? 1 : token_.text == "-" ? -1 : 0;
  if (token_.kind != TokenKind::words) return 0;
  const std::string word = text::lower(token_.text);
  const int sign = word == "plus" || word == "positive"    ? 1
                   : word == "minus" || word == "negative" ? -1
                                                           : 0;
  return sign != 0 && is_before_number(token_) ? sign : 0;
}

bool Parser::take_times(const Node& before) {
  if (take("*") || take_command("cdot") || take_command("times") || take_letter_for_times(before))
    return true;
  return is_words("times") && is_before_number(token_) && take_words("times");
}

bool Parser::take_division() {
  if (take_command("div") || take_words("divided by")) return true;
  if (!is_words("divided")) return false;
  const Token by = tokens_.at(token_.end);
  const bool is_division = tokens_.run(by.begin) == "by";
  if (is_division) advance_to(by.begin + 2);
  return is_division;
}

/// The half of "5 and a half".
bool Parser::take_numeral_behind_and(Node& value) {
  std::string_view rest = is_command("and")                 ? tokens_.text().substr(token_.end)
                          : token_.kind == TokenKind::words ? std::string_view(token_.text)
                                                            : std::string_view();
  if (is_command("and")) rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  else if (rest.starts_with("and ")) rest.remove_prefix(4);
  else return false;
  const auto part = numeral_at(rest);
  if (!part || part->value <= 0 || part->value >= 1) return false;
  value = node(Kind::add, std::move(value), number(part->value));
  if (is_command("and"))
    return advance_to(std::size_t(rest.data() - tokens_.text().data()) + part->size), true;
  token_.text = std::string(text::trim(rest.substr(part->size)));
  return true;
}

/// The x of 3 x 10^5.
bool Parser::take_letter_for_times(const Node& before) {
  if (before.kind != Kind::number || token_.kind != TokenKind::letter || token_.text != "x")
    return false;
  const Token ten = tokens_.at(token_.end);
  const bool is_times =
      ten.kind == TokenKind::number && ten.text == "10" && tokens_.at(ten.end).text == "^";
  if (is_times) advance();
  return is_times;
}

/// 3 1/2 and 3\frac{1}{2} are sums; 3\frac{x}{2} and 3\frac{5}{2} are products.
Node Parser::mixed(Node whole) {
  if (is_command("frac")) {
    Node fraction = factor();
    if (fraction.kind == Kind::percent)
      return node(Kind::percent, mixed_with(std::move(whole), std::move(fraction.children[0])));
    return mixed_with(std::move(whole), std::move(fraction));
  }
  Node numerator = primary();
  if (!take("/") || !is_integer(token_)) unreadable("two numbers side by side");
  Node denominator = primary();
  return node(Kind::add, std::move(whole),
              node(Kind::divide, std::move(numerator), std::move(denominator)));
}

}  // namespace rollcall::reward::math
