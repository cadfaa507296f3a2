// The parser's values: literals, names, words, and what stands in brackets.
#include "reward/math/numerals.hpp"
#include "reward/math/parser.hpp"
#include "reward/math/relations.hpp"
#include "reward/math/signs.hpp"
#include "reward/math/tree.hpp"
#include "reward/math/units.hpp"
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

/// Digits, a point, an exponent: exactly the number they spell.
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

/// Whether words are read once more as plain text: "x = 3 or x = 5", "all real numbers except 1",
/// "negative 5".
bool begins_formula(std::string_view words) {
  if (words.find('=') != std::string_view::npos) return true;
  if (words.starts_with("all real") && words.find("except") != std::string_view::npos)
    return !words.ends_with("except") && !words.ends_with("except for");
  for (const std::string_view opening : {"positive ", "negative ", "minus ", "plus ", "infinity "})
    if (words.starts_with(opening)) return true;
  return false;
}

/// Words with commas or "and" between them, one each: \text{A, C}.
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

}  // namespace

Node Parser::primary() {
  Level level(depth_);
  count_node();
  switch (token_.kind) {
    case TokenKind::number: return decimal();
    case TokenKind::letter: return letter();
    case TokenKind::words: return worded();
    case TokenKind::sign: return bracket();
    case TokenKind::command: return command();
    case TokenKind::end: unreadable("it ends too early");
  }
  unreadable("no expression");
}

/// Words, the number or the value that they spell, or several: "five", "3 apples", "two apples",
/// "A, C".
Node Parser::worded() {
  const std::string text = token_.text, lower = text::lower(text);
  advance();
  if (const auto numeral = numeral_at(text)) {
    const std::string rest(text::trim(std::string_view(text).substr(numeral->size)));
    const bool is_list =
        (rest.starts_with("or ") || rest.starts_with("and ") || rest.starts_with(",")) &&
        rest.find('\\') == std::string::npos;
    return is_list ? parse_answer(text, reading_).root : with_words(number(numeral->value), rest);
  }
  if (auto named = named_by_words(lower)) return *named;
  std::string_view opening = lower;
  if (opening.ends_with(" of")) opening.remove_suffix(3);
  if (opening == "all real") opening = "all reals";
  if (auto numbers = token_.kind == TokenKind::letter ? named_by_words(opening) : std::nullopt;
      numbers && numbers->kind == Kind::symbol)
    return advance(), *numbers;  // all real values of x
  const bool is_formula = lower.find('\\') == std::string::npos &&
                          lower.find(' ') != std::string::npos && begins_formula(lower);
  const bool is_value =
      !lower.empty() && lower[0] >= '0' && lower[0] <= '9' && lower.find('\\') == std::string::npos;
  if (is_formula || is_value || are_single_words(lower)) return parse_answer(text, reading_).root;
  return {Kind::words, lower, {}, {}};
}

/// What has a sign of its own: all real numbers, negative infinity. None for other words.
std::optional<Node> Parser::named_by_words(std::string_view words) {
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

/// All numbers but those that follow.
Node Parser::all_except() {
  const Node points = items();
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

/// A literal, with the digits that repeat.
Node Parser::decimal() {
  const std::string text = token_.text;
  const std::size_t end = token_.end, point = text.find('.');
  mpq_class value = literal(text);
  advance();
  if (point == std::string::npos || token_.begin != end || text.find('e') != std::string::npos)
    return number(std::move(value));
  const std::string places = text.substr(point + 1), digits = period(places);
  if (digits.empty()) return number(std::move(value));
  mpq_class repeated(mpz_class(digits, 10),
                     mpz_class(power_of_ten(places.size()) * (power_of_ten(digits.size()) - 1)));
  repeated.canonicalize();
  return number(value + repeated);
}

/// The digits that repeat behind `places`: 0.1\overline{6}, 0.1\dot{6}, 0.\dot{1}4285\dot{7},
/// 0.1(6), 0.1666...
std::string Parser::period(const std::string& places) {
  const auto marked = [&] {  // below a bar or a dot
    advance();
    const bool braced = take("{");
    const std::string digits = braced ? token_.text : token_.text.substr(0, 1);
    if (!is_integer(token_)) unreadable("no digits below the bar");
    advance_to(token_.begin + digits.size());
    if (braced) need("}");
    return digits;
  };
  if (is_command("overline") || is_command("bar")) return marked();
  if (is_command("dot")) {
    std::string digits = marked();
    if (!is_integer(token_) && !is_command("dot")) return digits;
    if (is_integer(token_)) digits += token_.text, advance();
    if (!is_command("dot")) unreadable("a period with one end");
    return digits + marked();
  }
  const std::string_view rest = tokens_.text().substr(token_.begin);
  if (is_sign("(")) {
    const std::size_t close = rest.find_first_not_of("0123456789", 1);
    if (close < 2 || close == std::string_view::npos || rest[close] != ')') return {};
    const std::string digits(rest.substr(1, close - 1));
    const Token behind = tokens_.at(token_.begin + close + 1);
    if (behind.text == "=" && !places.empty()) {  // 0.5(20) = 10 is a product
      saw_period_ = true;
      if (!reading_.periods) return {};
    }
    advance_to(behind.begin);
    return digits;
  }
  if (!is_command("ldots") && !rest.starts_with("...")) return {};
  advance_to(token_.begin + (is_command("ldots") ? token_.end - token_.begin : 3));
  for (std::size_t size = 1; size <= places.size() / 2; ++size) {
    const std::string last = places.substr(places.size() - size);
    if (places.ends_with(size == 1 ? last + last + last : last + last)) return last;
  }
  unsupported("a decimal that goes on");
}

Node Parser::bracket() {
  if (is_sign("(") || is_sign("[") || is_sign("]")) return bracketed();
  if (is_sign("_") || is_sign("^")) return prescript();
  if (take("{")) return group();
  if (take("|")) {
    ++bars_;
    Node inside = sum();
    need("|");
    --bars_;
    return call("abs", std::move(inside));
  }
  if (const char* unit = currency()) return advance(), unit_of(factor(), unit);
  unreadable("\"" + token_.text + "\" where a value should stand");
}

/// ]0,1[ is written (0,1) elsewhere.
Node Parser::bracketed() {
  const std::string open = is_sign("]") ? "(" : token_.text;
  const bool is_outward = is_sign("]");
  const int outer = std::exchange(bars_, 0);
  const bool outer_commas = tokens_.enter_brackets(token_.begin);
  advance();
  if (is_sign(")") || is_sign("]")) unreadable("empty brackets");
  ++brackets_;
  Node inside = items();
  --brackets_;
  bars_ = outer;
  if (!is_sign(")") && !is_sign("]") && !is_sign("[")) unreadable("a bracket that is never closed");
  const std::string close = is_sign("[") ? ")" : token_.text;
  const bool is_interval = is_outward || is_sign("[");
  tokens_.leave_brackets(outer_commas);
  advance();
  if (inside.kind != Kind::list) {
    if ((open == "(") != (close == ")") || is_interval) unreadable("brackets that do not match");
    return inside;
  }
  return with(Kind::bracketed, std::move(inside.children), open + close);
}

/// {...} of TeX; with several items it is a set written without backslashes.
Node Parser::group() {
  const int outer = std::exchange(bars_, 0);
  if (take("}")) {
    if (is_sign("_") || is_sign("^")) return bars_ = outer, prescript();
    if (token_.kind != TokenKind::end) unreadable("an empty group");
    return with(Kind::set, {});
  }
  Node inside = items();
  bars_ = outer;
  need("}");
  return inside.kind == Kind::list ? with(Kind::set, std::move(inside.children)) : inside;
}

/// What the condition of {x | ...} says, which is all where x is any number.
Node Parser::condition(const Node& element) {
  const bool is_real = element.kind == Kind::relation && element.text == "i" &&
                       element.children[1].kind == Kind::symbol && element.children[1].text == "R";
  if ((is_real ? element.children[0] : element).kind == Kind::symbol) return items();
  Node inside = items();
  const bool is_parameter = inside.kind == Kind::relation && inside.text == "i" &&
                            mentions(element, inside.children[0].text);
  if (!is_parameter || (inside.children[1].text != "Z" && inside.children[1].text != "N"))
    unsupported("a set of other things than the numbers of a condition");
  return with(Kind::list, {element, std::move(inside)});
}

Node Parser::set() {
  const int outer = std::exchange(bars_, 1);  // the bar of {x | ...} is none of an absolute value
  if (take_command("}")) return bars_ = outer, with(Kind::set, {});
  const bool outer_condition = std::exchange(in_condition_, true);
  Node inside = items();
  in_condition_ = outer_condition;
  if (take("|") || take(":")) inside = condition(inside);
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
