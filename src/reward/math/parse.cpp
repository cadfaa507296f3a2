// The parser: recursive descent over tokens, its depth and its nodes counted. (long: one grammar, whose rules call one another)
#include "reward/math/expression.hpp"
#include "reward/math/limits.hpp"
#include "reward/math/spelling.hpp"
#include "reward/math/tokens.hpp"
#include "reward/math/units.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace rollcall::reward::math {
namespace {

constexpr std::string_view kWrappers[] = {"mathbf", "mathit",    "mathcal", "mathbb", "boldsymbol", "bm",
                                          "mathsf", "underline", "boxed",   "fbox",   "mathfrak",   "displaylimits"};
/// Each makes another name of a name.
constexpr std::pair<std::string_view, std::string_view> kAccents[] = {{"bar", "bar"},     {"overline", "bar"},      {"hat", "hat"}, {"widehat", "hat"},
                                                                      {"tilde", "tilde"}, {"widetilde", "tilde"},   {"dot", "dot"}, {"ddot", "ddot"},
                                                                      {"vec", "vec"},     {"overrightarrow", "vec"}};
constexpr std::string_view kLetters[] = {"alpha", "beta",   "gamma",    "delta", "epsilon", "varepsilon", "zeta",   "eta", "theta",   "vartheta", "iota",
                                         "kappa", "lambda", "mu",       "nu",    "xi",      "rho",        "sigma",  "tau", "upsilon", "phi",      "varphi",
                                         "chi",   "psi",    "omega",    "Gamma", "Delta",   "Theta",      "Lambda", "Xi",  "Sigma",   "Phi",      "Psi",
                                         "Omega", "ell",    "emptyset", "hbar",  "R",       "N",          "Z",      "Q",   "C"};
constexpr std::string_view kMatrices[] = {"pmatrix", "bmatrix", "matrix", "vmatrix", "Bmatrix", "smallmatrix", "array"};

template <class Table>
bool holds(const Table& table, std::string_view name) {
  return std::find(std::begin(table), std::end(table), name) != std::end(table);
}

Node with(Kind kind, std::vector<Node> children, std::string text = {}) { return {kind, std::move(text), {}, std::move(children)}; }
template <class... Nodes>
Node node(Kind kind, Nodes... children) {
  Node made{kind};
  (made.children.push_back(std::move(children)), ...);
  return made;
}
/// A product as one node, so that long ones are not deep.
Node times(Node left, Node right) {
  if (left.kind != Kind::multiply) return node(Kind::multiply, std::move(left), std::move(right));
  left.children.push_back(std::move(right));
  return left;
}
Node call(std::string name, Node argument) {
  Node made = node(Kind::call, std::move(argument));
  made.text = std::move(name);
  return made;
}
Node number(mpq_class value) { return {Kind::number, {}, std::move(value), {}}; }
Node symbol(std::string name) { return {Kind::symbol, std::move(name), {}, {}}; }

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

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

class Parser {
 public:
  Parser(std::string_view text, const Reading& reading) : tokens_(text, reading.thousands), reading_(reading) { advance_to(0); }

  Parsed whole() {
    Node root = items();
    if (is_sign(".")) advance();
    if (token_.kind != TokenKind::end) unreadable("something that does not belong there: \"" + std::string(tokens_.text().substr(token_.begin, 12)) + "\"");
    return {std::move(root), tokens_.saw_thousands(), saw_logarithm_, saw_letter_unit_};
  }

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
  bool is_sign(std::string_view s) const { return token_.kind == TokenKind::sign && token_.text == s; }
  bool is_command(std::string_view s) const { return token_.kind == TokenKind::command && token_.text == s; }
  bool is_integer(const Token& t) const { return t.kind == TokenKind::number && t.text.find_first_not_of("0123456789") == std::string::npos; }
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
  void need(std::string_view sign) {
    if (!take(sign)) unreadable("a missing \"" + std::string(sign) + "\"");
  }
  void count_node() {
    if (++nodes_ > kMostNodes) exhausted("more parts than are read");
  }

  // Items, relations, unions.
  bool at_separator() const {
    return is_sign(",") || is_sign(";") || is_command("and") || is_command("or") || is_command("\\") ||
           (token_.kind == TokenKind::words && (token_.text == "and" || token_.text == "or"));
  }
  bool at_close() const {
    return token_.kind == TokenKind::end || is_sign(")") || is_sign("]") || is_sign("}") || is_command("}") || is_command("end") || is_sign("&") ||
           is_sign(".");
  }

  /// One item, or a list of several.
  Node items() {
    Level level(depth_);
    std::vector<Node> all;
    std::string word;
    do {
      for (; at_separator(); advance())
        if (token_.text == "and" || token_.text == "or") word = token_.text;
      if (at_close() && !all.empty()) break;
      all.push_back(relation());
    } while (at_separator());
    return all.size() == 1 ? std::move(all[0]) : with(Kind::list, std::move(all), std::move(word));
  }

  char relation_sign() const {
    if (token_.kind == TokenKind::sign && (token_.text == "=" || token_.text == "<" || token_.text == ">")) return token_.text[0];
    if (is_sign("!") && tokens_.text().substr(token_.end).starts_with('=')) return '!';
    if (token_.kind != TokenKind::command) return 0;
    constexpr std::pair<std::string_view, char> kSigns[] = {{"le", 'l'},     {"ge", 'g'},    {"ne", '!'},   {"in", 'i'},
                                                            {"approx", '~'}, {"equiv", '='}, {"doteq", '='}};
    for (const auto& [name, sign] : kSigns)
      if (token_.text == name) return sign;
    return 0;
  }

  Node relation() {
    std::vector<Node> sides;
    std::string signs;
    if (relation_sign() == '=' || relation_sign() == '~') advance();  // "= 5"
    sides.push_back(join());
    while (const char sign = relation_sign()) {
      const bool two = is_sign("!");
      advance();
      if (two || ((sign == '<' || sign == '>' || sign == '=') && is_sign("="))) {
        signs += sign == '<' ? 'l' : sign == '>' ? 'g' : sign;
        advance();
      } else {
        signs += sign;
      }
      sides.push_back(join());
    }
    return exactly(std::move(sides), std::move(signs));
  }

  /// Whether no variable stands in it.
  static bool is_number(const Node& node) {
    if (node.kind == Kind::symbol) return node.text == "pi" || node.text == "e" || node.text == "i";
    return std::all_of(node.children.begin(), node.children.end(), is_number);
  }

  /// Without what is about equal to a value before it; a name has no other value.
  Node exactly(std::vector<Node> sides, std::string signs) {
    const bool is_name = sides[0].kind == Kind::words || (sides[0].kind == Kind::symbol && !is_number(sides[0]));
    if (signs.starts_with('~') && is_name) signs[0] = '=';
    if (const std::size_t about = signs.find('~'); about != std::string::npos) signs.resize(about), sides.resize(about + 1);
    return signs.empty() ? std::move(sides[0]) : with(Kind::relation, std::move(sides), signs);
  }

  /// 1:2:3, and 8:05.
  Node ratio() {
    Node first = sum();
    if (in_condition_ || !is_sign(":")) return first;
    bool is_clock = first.kind == Kind::number && first.value->get_den() == 1;
    std::string minutes;
    std::vector<Node> parts;
    parts.push_back(std::move(first));
    while (take(":")) {
      minutes = token_.text;
      is_clock &= is_integer(token_) && minutes.size() == 2 && parts.size() == 1;
      parts.push_back(sum());
    }
    const bool last_is_unit = parts.back().kind == Kind::unit;  // 8:30 PM
    return with(Kind::ratio, std::move(parts), !is_clock ? "" : minutes[0] == '0' || last_is_unit ? "clock" : "either");
  }

  Node join() {
    std::vector<Node> parts;
    parts.push_back(ratio());
    const auto at_join = [&] {
      const bool is_set = parts.back().kind == Kind::bracketed || parts.back().kind == Kind::set;
      return is_command("cup") || (is_set && token_.kind == TokenKind::letter && token_.text == "U");
    };
    while (at_join()) advance(), parts.push_back(sum());
    return parts.size() == 1 ? std::move(parts[0]) : with(Kind::join, std::move(parts));
  }

  // Arithmetic.
  Node sum() {
    Level level(depth_);
    count_node();
    Node total = signed_product();
    std::vector<Node> terms;
    for (;;) {
      if (is_sign("+") || is_sign("-")) {
        if (terms.empty()) terms.push_back(std::move(total));
        terms.push_back(signed_product());
      } else if (is_command("pm") || is_command("mp")) {
        std::string sign = token_.text;
        advance();
        if (total.kind == Kind::plus_minus) unsupported("more than one plus-minus");
        Node left = terms.empty() ? std::move(total) : with(Kind::add, std::move(terms));
        total = node(Kind::plus_minus, std::move(left), product());
        total.text = std::move(sign);
        terms.clear();
      } else {
        return terms.empty() ? std::move(total) : with(Kind::add, std::move(terms));
      }
    }
  }

  Node signed_product() {
    bool negative = false;
    while (is_sign("+") || is_sign("-")) negative ^= is_sign("-"), advance();
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

  /// A sign, where it stands behind an operator: 2 * -3.
  Node signed_factor() {
    bool negative = false;
    while (is_sign("+") || is_sign("-")) negative ^= is_sign("-"), advance();
    Node value = factor();
    return negative ? node(Kind::negate, std::move(value)) : std::move(value);
  }

  bool at_factor() const {
    switch (token_.kind) {
      case TokenKind::number:
      case TokenKind::letter: return true;
      case TokenKind::words: return token_.text != "and" && token_.text != "or";
      case TokenKind::sign: return is_sign("(") || is_sign("{") || (is_sign("|") && bars_ == 0);
      case TokenKind::command: {
        constexpr std::string_view kOthers[] = {"and", "or",     "}",     "\\",   "end",   "cup", "cap",    "pm",    "mp",
                                                "in",  "rfloor", "rceil", "cdot", "times", "div", "degree", "prime", "%"};
        return !holds(kOthers, token_.text) && relation_sign() == 0;
      }
      case TokenKind::end: return false;
    }
    return false;
  }

  Node product() {
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
      if (take("*") || take_command("cdot") || take_command("times")) {
        value = times(std::move(value), signed_factor());
      } else if (take("/") || take_command("div")) {
        value = node(Kind::divide, std::move(value), signed_factor());
      } else if (only_integer && value.kind == Kind::number && (is_command("frac") || (token_.kind == TokenKind::number && token_.spaced))) {
        value = mixed(std::move(value));
      } else if (at_unit(value)) {
        Node& behind = has_unit && value.kind != Kind::unit ? value.children.back() : value;  // 3 cm * 4 cm
        behind = with_unit(std::move(behind));
        has_unit |= behind.kind == Kind::unit;
      } else if (at_factor()) {
        if (token_.kind == TokenKind::number && after_number) unreadable("two numbers side by side");
        if (has_unit) {  // 1 hour 30 minutes
          Node part = token_.kind == TokenKind::number ? factor() : Node{};
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

  static Node mixed_with(Node whole, Node fraction) {
    const bool is_part = fraction.kind == Kind::divide && fraction.children[0].kind == Kind::number && fraction.children[1].kind == Kind::number &&
                         *fraction.children[0].value<*fraction.children[1].value&& * fraction.children[0].value> 0;
    return node(is_part ? Kind::add : Kind::multiply, std::move(whole), std::move(fraction));
  }

  /// 3 1/2 and 3\frac{1}{2} are sums; 3\frac{x}{2} and 3\frac{5}{2} are products.
  Node mixed(Node whole) {
    if (is_command("frac")) {
      Node fraction = factor();
      if (fraction.kind == Kind::percent) return node(Kind::percent, mixed_with(std::move(whole), std::move(fraction.children[0])));
      return mixed_with(std::move(whole), std::move(fraction));
    }
    Node numerator = primary();
    if (!take("/") || !is_integer(token_)) unreadable("two numbers side by side");
    Node denominator = primary();
    return node(Kind::add, std::move(whole), node(Kind::divide, std::move(numerator), std::move(denominator)));
  }

  /// Words behind a value, a currency, and the letters that are units with a space before them.
  bool at_unit(const Node& value) {
    if (is_sign("$")) return true;
    if (token_.kind == TokenKind::words) return at_factor();
    if (token_.kind != TokenKind::letter || !token_.spaced) return false;
    const std::string_view run = tokens_.run(token_.begin);
    if (run == "AM" || run == "PM" || run == "am" || run == "pm") return value.kind == Kind::number;
    if (!is_number(value)) return false;
    if (run.size() > 1) return find_unit(run).has_value();
    if (!is_letter_unit(run)) return false;
    saw_letter_unit_ = true;
    return reading_.letter_units;
  }

  /// The words behind a value, with what belongs to them: cm^2, square units, km/h. Words that change the value are applied: 5 million, 75 percent.
  Node with_unit(Node value) {
    if (take("$")) return unit_of(std::move(value), "dollars");
    std::string unit;
    for (bool first = true; at_unit_word(first); first = false) {
      std::string words = lower(token_.kind == TokenKind::words ? token_.text : std::string(tokens_.run(token_.begin)));
      advance_to(token_.kind == TokenKind::words ? token_.end : token_.begin + words.size());
      if (first && value.kind != Kind::words) words = applied(value, words);
      if (words.empty()) continue;
      if (!unit.empty() && unit.back() != '/') unit += ' ';
      unit += words;
      take_unit_power(unit);
      const TokenKind behind = is_sign("/") ? tokens_.at(token_.end).kind : TokenKind::end;
      if (behind == TokenKind::words || behind == TokenKind::letter) advance(), unit += '/';
    }
    if (value.kind != Kind::words) return unit.empty() ? std::move(value) : unit_of(std::move(value), unit);
    value.text += " " + unit;
    return value.text == "all real numbers" || value.text == "all reals" ? symbol("R") : std::move(value);
  }

  static Node unit_of(Node value, std::string words) {
    if (value.kind == Kind::unit) return value.text += " " + words, std::move(value);
    Node made = node(Kind::unit, std::move(value));
    made.text = std::move(words);
    return made;
  }

  bool at_unit_word(bool is_first) const {
    if (token_.kind == TokenKind::words) return at_factor();
    if (token_.kind != TokenKind::letter) return false;
    const std::string_view run = tokens_.run(token_.begin);
    return is_first || is_letter_unit(run) || is_unit_word(run);
  }

  /// m^2, m^{-1}, m².
  void take_unit_power(std::string& unit) {
    if (!take("^")) return;
    const bool braced = take("{");
    unit += '^';
    if (take("-")) unit += '-';
    unit += token_.text;
    advance();
    if (braced) need("}");
  }

  /// What is left of the words once their first one is applied to the value.
  std::string applied(Node& value, const std::string& words) {
    const std::string first = words.substr(0, words.find(' ')), rest = first.size() < words.size() ? words.substr(first.size() + 1) : "";
    Node& inner = value.kind == Kind::unit ? value.children[0] : value;
    Node changed;
    if (first == "percent") changed = node(Kind::percent, std::move(inner));
    else if (first == "squared" || first == "cubed") changed = node(Kind::power, std::move(inner), number(first == "squared" ? 2 : 3));
    else if (first == "factorial") changed = call("factorial", std::move(inner));
    else if (first == "deg" || first == "degrees" || first == "degree") changed = node(Kind::degrees, std::move(inner));
    else if (const auto multiplier = find_multiplier(first)) changed = node(Kind::multiply, std::move(inner), number(*multiplier));
    else return words;
    inner = std::move(changed);
    return rest;
  }

  Node exponent() {
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

  /// "^\circ" and "^{\circ}" behind the caret's token.
  bool take_degree() {
    const std::size_t start = token_.begin;
    if (!is_sign("^")) return take_command("degree");
    advance();
    const bool braced = take("{");
    if (take_command("circ") || take_command("degree")) {
      if (braced) need("}");
      return true;
    }
    advance_to(start);
    return false;
  }

  /// A primary with what is written behind it.
  Node factor() {
    const bool is_literal = token_.kind == TokenKind::number;
    const std::string digits = token_.text;
    Node value = primary();
    for (;;) {
      count_node();
      if (take_degree()) {
        const bool is_celsius = token_.text == "C", is_name = token_.text.size() == 1 && (token_.kind == TokenKind::letter || token_.kind == TokenKind::words);
        if (is_name && (is_celsius || token_.text == "F")) {
          advance();
          return unit_of(std::move(value), is_celsius ? "celsius" : "fahrenheit");
        }
        value = node(Kind::degrees, std::move(value));
      } else if (is_sign("^") || (is_sign("*") && tokens_.text().substr(token_.end).starts_with('*'))) {
        if (is_sign("*")) advance();
        advance();
        if (is_command("prime")) unsupported("a derivative");
        value = node(Kind::power, std::move(value), exponent());
      } else if (is_sign("!") && (relation_sign() == 0 || (is_literal && value.kind == Kind::number))) {  // 4!=24, but x!=2
        advance();
        if (is_sign("!") && relation_sign() == 0) unsupported("a double factorial");
        value = call("factorial", std::move(value));
      } else if (take("%")) {
        value = node(Kind::percent, std::move(value));
      } else if (is_sign("_")) {
        advance();
        value = with_index(std::move(value), is_literal ? digits : std::string());
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
  Node with_index(Node value, const std::string& digits) {
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
    int base = 0;
    const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), base);
    if (digits.empty() || error != std::errc{} || end != index.data() + index.size() || base < 2 || base > 36) unreadable("an index behind what is no name");
    mpz_class converted;
    if (converted.set_str(digits, base) != 0) unreadable("digits that the base does not have");
    Node made{Kind::based, digits, mpq_class(converted), {}};
    return made;
  }

  // Primaries.
  Node primary() {
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
        std::string text = lower(token_.text);
        advance();
        if (text[0] >= '0' && text[0] <= '9' && text.find('\\') == std::string::npos) return parse_answer(text, reading_).root;  // \text{3 apples}
        return {Kind::words, std::move(text), {}, {}};
      }
      case TokenKind::sign: return bracket();
      case TokenKind::command: return command();
      case TokenKind::end: unreadable("it ends too early");
    }
    unreadable("no expression");
  }

  /// A literal, with the digits that repeat: 0.1\overline{6}.
  Node decimal() {
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

  Node bracket() {
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

  Node bracketed() {
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
  Node group() {
    const int outer = std::exchange(bars_, 0);
    if (take("}")) unreadable("an empty group");
    Node inside = items();
    bars_ = outer;
    need("}");
    return inside.kind == Kind::list ? with(Kind::set, std::move(inside.children)) : inside;
  }

  Node set() {
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
  Node argument(bool one_digit) {
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

  Node command() {
    const std::string name = token_.text;
    if (name == "{") return advance(), set();
    if (holds(kLetters, name)) return letter(name);
    advance();
    if (name == "frac" || name == "binom") {
      Node top = argument(true), bottom = argument(true);
      return name == "frac" ? node(Kind::divide, std::move(top), std::move(bottom)) : with_name("binomial", std::move(top), std::move(bottom));
    }
    if (name == "sqrt" || name == "cbrt") return root(name == "cbrt");
    if (name == "pi" || name == "infty") return name == "pi" ? symbol("pi") : Node{Kind::infinity, {}, {}, {}};
    if (is_function(name)) return function(name);
    if (name == "lfloor" || name == "lceil") {
      Node inside = sum();
      if (!take_command(name == "lfloor" ? "rfloor" : "rceil")) unreadable("a bracket that is never closed");
      return call(name == "lfloor" ? "floor" : "ceil", std::move(inside));
    }
    if (name == "begin") return matrix();
    if (name == "%") return number(1);
    if (holds(kWrappers, name)) return argument(false);
    for (const auto& [command, accent] : kAccents)
      if (command == name) return accented(std::string(accent), argument(false));
    constexpr std::string_view kUnsupported[] = {"int", "sum", "prod", "lim", "partial", "nabla", "cap",  "setminus", "gcd",
                                                 "lcm", "max", "min",  "det", "pmod",    "bmod",  "oint", "iint"};
    if (holds(kUnsupported, name)) unsupported("\\" + name + " is not computed");
    unreadable("\\" + name.substr(0, 20) + " where a value should stand");
  }

  /// Another name for a name; the conjugate of a number.
  Node accented(const std::string& accent, Node inside) {
    if (inside.kind == Kind::symbol && inside.text != "i") return symbol(accent + ' ' + inside.text);
    const auto is_letter = [](const Node& n) { return n.kind == Kind::symbol; };
    if (inside.kind == Kind::multiply && std::all_of(inside.children.begin(), inside.children.end(), is_letter)) {
      std::string name = accent;
      for (const Node& letter : inside.children) name += ' ' + letter.text;
      return symbol(name);
    }
    if (accent != "bar" || !conjugate(inside)) unsupported("an accent over an expression");
    return inside;
  }

  /// Of a number written with +, -, * and / alone; false for what is more.
  static bool conjugate(Node& node) {
    if (node.kind == Kind::symbol && node.text == "i") {
      node = {Kind::negate, {}, {}, {symbol("i")}};
      return true;
    }
    constexpr Kind kKinds[] = {Kind::number, Kind::add, Kind::multiply, Kind::divide, Kind::negate};
    return std::find(std::begin(kKinds), std::end(kKinds), node.kind) != std::end(kKinds) &&
           std::all_of(node.children.begin(), node.children.end(), [](Node& child) { return conjugate(child); });
  }

  Node with_name(const char* name, Node first, Node second) {
    Node made = node(Kind::call, std::move(first), std::move(second));
    made.text = name;
    return made;
  }

  Node letter(const std::string& name) {
    advance();
    if (name == "emptyset") return with(Kind::set, {});
    return symbol(name);
  }

  Node root(bool cubic) {
    Node degree = number(cubic ? 3 : 2);
    if (take("[")) {
      degree = sum();
      need("]");
    }
    Node inside = argument(false);
    return node(Kind::power, std::move(inside), node(Kind::divide, number(1), std::move(degree)));
  }

  /// A function with its power, base and argument: \sin^2 x, \sin^{-1}x, \log_2 8, \ln(x).
  Node function(std::string name) {
    Node base, power;
    bool has_base = false, has_power = false;
    while (is_sign("^") || is_sign("_")) {
      if (take("_")) base = argument(false), has_base = true;
      else advance(), power = exponent(), has_power = true;
    }
    const bool inverse = has_power && power.kind == Kind::negate && power.children[0].kind == Kind::number && *power.children[0].value == 1;
    if (inverse && (name == "sin" || name == "cos" || name == "tan")) name = "arc" + name, has_power = false;
    Node value = call(name, function_argument());
    if (name == "log" && !has_base) saw_logarithm_ = true;
    if (name == "log10" || (name == "log" && !has_base && reading_.decimal_logarithm)) base = number(10), has_base = true;
    if (name == "log" || name == "log10") value.text = "ln";
    if (has_base) value = node(Kind::divide, std::move(value), call("ln", std::move(base)));
    return has_power ? node(Kind::power, std::move(value), std::move(power)) : std::move(value);
  }

  /// In brackets, or the factors side by side up to the next function, bracket or operator: \sin 2x \cos x is sin(2x) cos(x).
  Node function_argument() {
    if (is_sign("(")) return bracketed();
    if (is_sign("{")) return argument(false);
    bool negative = false;
    while (is_sign("-") || is_sign("+")) negative ^= is_sign("-"), advance();
    Node value = factor();
    while (at_factor() && !is_sign("(") && !is_sign("{") && token_.kind != TokenKind::words && token_.kind != TokenKind::number &&
           !(token_.kind == TokenKind::command && is_function(token_.text)))
      value = node(Kind::multiply, std::move(value), factor());
    return negative ? node(Kind::negate, std::move(value)) : std::move(value);
  }

  std::string environment() {
    if (!is_sign("{")) unreadable("an environment without a name");
    const std::size_t close = group_end(tokens_.text(), token_.begin);
    if (close == std::string_view::npos) unreadable("a brace that is never closed");
    std::string name(tokens_.text().substr(token_.begin + 1, close - token_.begin - 2));
    advance_to(close);
    return name;
  }

  Node matrix() {
    const std::string name = environment();
    if (name == "cases") unsupported("cases are not compared");
    if (!holds(kMatrices, name)) unreadable("an environment that is no matrix");
    if (name == "array" && is_sign("{")) environment();
    std::vector<Node> cells;
    std::size_t columns = 0, in_row = 0;
    for (;;) {
      if (is_command("end")) break;
      cells.push_back(relation());
      ++in_row;
      if (take("&")) continue;
      if (columns != 0 && in_row != columns) unreadable("rows of different lengths");
      columns = in_row, in_row = 0;
      if (!take_command("\\")) break;
    }
    if (!take_command("end")) unreadable("a matrix that is never closed");
    environment();
    if (cells.empty()) unreadable("an empty matrix");
    if (name == "vmatrix") unsupported("determinants are not computed");
    Node made = with(Kind::matrix, std::move(cells));
    made.value = mpq_class(static_cast<unsigned long>(columns));
    return made;
  }

  Tokens tokens_;
  Reading reading_;
  Token token_;
  int depth_ = 0, bars_ = 0;
  std::size_t nodes_ = 0;
  bool saw_logarithm_ = false, saw_letter_unit_ = false, in_condition_ = false;
};

}  // namespace

Parsed parse_answer(std::string_view text, const Reading& reading) {
  const std::string plain = respelt(text);
  return Parser(plain, reading).whole();
}

}  // namespace rollcall::reward::math
