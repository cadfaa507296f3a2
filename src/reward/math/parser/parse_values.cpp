// The parser's values: literals, names, words and bracketed expressions.
#include "reward/math/compare/relations.hpp"
#include "reward/math/expression/signs.hpp"
#include "reward/math/expression/tree.hpp"
#include "reward/math/parser/grammar.hpp"
#include "reward/math/parser/numerals.hpp"
#include "reward/math/parser/units.hpp"
#include "text/answer/answer_text.hpp"
#include "text/conclusion/prose.hpp"

#include <charconv>
#include <utility>

namespace rollcall::reward::math {
namespace {

mpz_class power_of_ten(unsigned long n) {
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), 10, n);
  return power;
}

/// The exact value of a literal, which is digits with a point and an exponent.
mpq_class literal(const std::string& text) {
  const std::size_t e = text.find('e');
  std::string digits = text.substr(0, e);
  long exponent = 0;
  if (e != std::string::npos) {
    const char* first = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
    const auto [end, error] = std::from_chars(first, text.data() + text.size(), exponent);
    if (error != std::errc{} || std::abs(exponent) > long(kMostBits / 4))
      exhausted("an exponent of ten beyond what is computed exactly");
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

/// Whether words contain a formula and must be parsed as plain text: "x = 3 or x = 5", "all real
/// numbers except 1", "negative 5".
bool begins_formula(std::string_view words) {
  if (words.find('=') != std::string_view::npos) return true;
  if (words.starts_with("all real") && words.find("except") != std::string_view::npos)
    return !words.ends_with("except") && !words.ends_with("except for");
  for (const std::string_view opening : {"positive ", "negative ", "minus ", "plus ", "infinity "})
    if (words.starts_with(opening)) return true;
  return false;
}

/// Whether the text is single words with commas or "and" between them: \text{A, C}.
bool are_single_words(std::string text) {
  if (const std::size_t at = text.find(" and "); at != std::string::npos)
    text.replace(at, 5, 1, ',');
  if (text.find(',') == std::string::npos ||
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyz, ") != std::string::npos)
    return false;
  for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at + 1))
    if (at == 0 || text[at - 1] != ',') return false;
  return text.front() != ',' && text.back() != ',';
}

/// Reads words, or the number or values that they spell: "five", "3 apples", "two apples", "A, C".
Node parse_words(Cursor& in) {
  const std::string text = in.token().text, lower = text::lower(text);
  in.advance();
  if (const auto numeral = numeral_at(text)) {
    const std::string rest(text::trim(std::string_view(text).substr(numeral->size)));
    const bool is_list =
        (rest.starts_with("or ") || rest.starts_with("and ") || rest.starts_with(",")) &&
        rest.find('\\') == std::string::npos;
    return is_list ? parse_answer(text, in.reading()).root
                   : with_words(number(numeral->value), rest);
  }
  if (auto named = named_by_words(lower)) return *named;
  std::string_view opening = lower;
  if (opening.ends_with(" of")) opening.remove_suffix(3);
  if (opening == "all real") opening = "all reals";
  if (auto numbers = in.token().kind == TokenKind::letter ? named_by_words(opening) : std::nullopt;
      numbers && numbers->kind == Kind::symbol)
    return in.advance(), *numbers;  // all real values of x
  const bool is_formula = lower.find('\\') == std::string::npos &&
                          lower.find(' ') != std::string::npos && begins_formula(lower);
  const bool is_value =
      !lower.empty() && lower[0] >= '0' && lower[0] <= '9' && lower.find('\\') == std::string::npos;
  if (is_formula || is_value || are_single_words(lower))
    return parse_answer(text, in.reading()).root;
  return {Kind::words, lower, {}, {}};
}

/// Takes the repeating digits after `places`: 0.1\overline{6}, 0.1\dot{6}, 0.\dot{1}4285\dot{7},
/// 0.1(6), 0.1666...
std::string take_period(Cursor& in, const std::string& places) {
  const auto marked = [&] {  // digits below a bar or a dot
    in.advance();
    const bool braced = in.take("{");
    const std::string digits = braced ? in.token().text : in.token().text.substr(0, 1);
    if (!is_integer(in.token())) unreadable("no digits below the bar");
    in.advance_to(in.token().begin + digits.size());
    if (braced) in.need("}");
    return digits;
  };
  if (in.is_command("overline") || in.is_command("bar")) return marked();
  if (in.is_command("dot")) {
    std::string digits = marked();
    if (!is_integer(in.token()) && !in.is_command("dot")) return digits;
    if (is_integer(in.token())) digits += in.token().text, in.advance();
    if (!in.is_command("dot")) unreadable("a period with one end");
    return digits + marked();
  }
  const std::string_view rest = in.tokens().text().substr(in.token().begin);
  if (in.is_sign("(")) {
    const std::size_t close = rest.find_first_not_of("0123456789", 1);
    if (close < 2 || close == std::string_view::npos || rest[close] != ')') return {};
    const std::string digits(rest.substr(1, close - 1));
    const Token behind = in.tokens().at(in.token().begin + close + 1);
    if (behind.text == "=" && !places.empty()) {  // 0.5(20) = 10 is a product
      in.met.period = true;
      if (!in.reading().periods) return {};
    }
    in.advance_to(behind.begin);
    return digits;
  }
  if (!in.is_command("ldots") && !rest.starts_with("...")) return {};
  in.advance_to(in.token().begin +
                (in.is_command("ldots") ? in.token().end - in.token().begin : 3));
  for (std::size_t size = 1; size <= places.size() / 2; ++size) {
    const std::string last = places.substr(places.size() - size);
    if (places.ends_with(size == 1 ? last + last + last : last + last)) return last;
  }
  unsupported("a decimal that goes on");
}

/// Reads a TeX group {...}. With several items it is a set written without backslashes.
Node parse_group(Cursor& in) {
  const int outer = std::exchange(in.enclosure.bars, 0);
  if (in.take("}")) {
    if (in.is_sign("_") || in.is_sign("^")) return in.enclosure.bars = outer, parse_prescript(in);
    if (in.token().kind != TokenKind::end) unreadable("an empty group");
    return with(Kind::set, {});
  }
  Node inside = parse_items(in);
  in.enclosure.bars = outer;
  in.need("}");
  return inside.kind == Kind::list ? with(Kind::set, std::move(inside.children)) : inside;
}

Node parse_sign(Cursor& in) {
  if (in.is_sign("(") || in.is_sign("[") || in.is_sign("]")) return parse_bracketed(in);
  if (in.is_sign("_") || in.is_sign("^")) return parse_prescript(in);
  if (in.take("{")) return parse_group(in);
  if (in.take("|")) {
    ++in.enclosure.bars;
    Node inside = parse_sum(in);
    in.need("|");
    --in.enclosure.bars;
    return call("abs", std::move(inside));
  }
  if (const char* unit = currency_here(in)) return in.advance(), unit_of(parse_factor(in), unit);
  unreadable("\"" + in.token().text + "\" where a value should stand");
}

/// Reads the condition of {x | ...}. It alone is the set if x is any number.
Node parse_condition(Cursor& in, const Node& element) {
  const bool is_real = element.kind == Kind::relation && element.text == "i" &&
                       element.children[1].kind == Kind::symbol && element.children[1].text == "R";
  if ((is_real ? element.children[0] : element).kind == Kind::symbol) return parse_items(in);
  Node inside = parse_items(in);
  const bool is_parameter = inside.kind == Kind::relation && inside.text == "i" &&
                            mentions(element, inside.children[0].text);
  if (!is_parameter || (inside.children[1].text != "Z" && inside.children[1].text != "N"))
    unsupported("a set of other things than the numbers of a condition");
  return with(Kind::list, {element, std::move(inside)});
}

}  // namespace

Node parse_primary(Cursor& in) {
  const Level level(in);
  in.count_node();
  switch (in.token().kind) {
    case TokenKind::number: return parse_decimal(in);
    case TokenKind::letter: return parse_letter(in);
    case TokenKind::words: return parse_words(in);
    case TokenKind::sign: return parse_sign(in);
    case TokenKind::command: return parse_command(in);
    case TokenKind::end: unreadable("it ends too early");
  }
  unreadable("no expression");
}

std::optional<Node> named_by_words(std::string_view words) {
  const bool is_negative = words == "negative infinity" || words == "minus infinity";
  if (is_negative) return node(Kind::negate, Node{Kind::infinity});
  if (words == "infinity" || words == "positive infinity" || words == "plus infinity")
    return Node{Kind::infinity};
  for (const std::string_view opening :
       {"the set of ", "all of ", "all ", "any ", "every ", "each ", "the "})
    if (words.starts_with(opening)) words.remove_prefix(opening.size());
  constexpr std::string_view kReal[] = {"real numbers", "reals", "real number", "real values",
                                        "real value"};
  for (const std::string_view ending : {" of x", " x", " of n", " n"})
    if (words.ends_with(ending)) words.remove_suffix(ending.size());
  if (words == "integers") return symbol("Z");
  return holds(kReal, words) ? std::optional(symbol("R")) : std::nullopt;
}

Node parse_all_except(Cursor& in) {
  const Node points = parse_items(in);
  std::vector<Node> values;
  for (const Node& point :
       points.kind == Kind::list ? points.children : std::vector<Node>{points}) {
    const Node& value = is_assignment(point) ? point.children[1] : point;
    for (Node& one : has_two_signs(value) ? both_signs(value) : std::vector<Node>{value})
      values.push_back(std::move(one));
  }
  Node without = with(Kind::set, std::move(values));
  return with(Kind::join, {symbol("R"), std::move(without)}, "-");
}

Node parse_decimal(Cursor& in) {
  const std::string text = in.token().text;
  const std::size_t end = in.token().end, point = text.find('.');
  mpq_class value = literal(text);
  in.advance();
  if (point == std::string::npos || in.token().begin != end || text.find('e') != std::string::npos)
    return number(std::move(value));
  const std::string places = text.substr(point + 1), digits = take_period(in, places);
  if (digits.empty()) return number(std::move(value));
  mpq_class repeated(mpz_class(digits, 10),
                     mpz_class(power_of_ten(places.size()) * (power_of_ten(digits.size()) - 1)));
  repeated.canonicalize();
  return number(value + repeated);
}

Node parse_bracketed(Cursor& in) {
  const std::string open = in.is_sign("]") ? "(" : in.token().text;
  const bool is_outward = in.is_sign("]");
  const int outer = std::exchange(in.enclosure.bars, 0);
  const bool outer_commas = in.tokens().enter_brackets(in.token().begin);
  in.advance();
  if (in.is_sign(")") || in.is_sign("]")) unreadable("empty brackets");
  ++in.enclosure.brackets;
  Node inside = parse_items(in);
  --in.enclosure.brackets;
  in.enclosure.bars = outer;
  if (!in.is_sign(")") && !in.is_sign("]") && !in.is_sign("["))
    unreadable("a bracket that is never closed");
  const std::string close = in.is_sign("[") ? ")" : in.token().text;
  const bool is_interval = is_outward || in.is_sign("[");
  in.tokens().leave_brackets(outer_commas);
  in.advance();
  if (inside.kind != Kind::list) {
    if ((open == "(") != (close == ")") || is_interval) unreadable("brackets that do not match");
    return inside;
  }
  return with(Kind::bracketed, std::move(inside.children), open + close);
}

Node parse_set(Cursor& in) {
  const int outer =
      std::exchange(in.enclosure.bars, 1);  // the bar of {x | ...} does not begin an absolute value
  if (in.take_command("}")) return in.enclosure.bars = outer, with(Kind::set, {});
  const bool outer_condition = std::exchange(in.enclosure.in_condition, true);
  Node inside = parse_items(in);
  in.enclosure.in_condition = outer_condition;
  if (in.take("|") || in.take(":")) inside = parse_condition(in, inside);
  else if (inside.kind == Kind::list) inside = with(Kind::set, std::move(inside.children));
  else inside = node(Kind::set, std::move(inside));
  in.enclosure.bars = outer;
  if (!in.take_command("}")) unreadable("a brace that is never closed");
  return inside;
}

Node parse_argument(Cursor& in, bool one_digit) {
  if (in.take("{")) {
    Node inside = parse_items(in);
    in.need("}");
    return inside;
  }
  if (one_digit && in.token().kind == TokenKind::number) {
    const std::size_t at = in.token().begin;
    in.advance_to(at + 1);
    return number(in.tokens().text()[at] - '0');
  }
  return parse_primary(in);
}

}  // namespace rollcall::reward::math
