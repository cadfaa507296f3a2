// The parser's TeX commands: fractions, roots, functions, accents, matrices.
#include "reward/math/expression/tree.hpp"
#include "reward/math/parser/grammar.hpp"

#include <algorithm>

namespace rollcall::reward::math {
namespace {

constexpr std::string_view kWrappers[] = {"mathbf",     "mathit", "mathcal",    "mathbb",
                                          "boldsymbol", "bm",     "mathsf",     "underline",
                                          "boxed",      "fbox",   "mathfrak",   "displaylimits",
                                          "mathtt",     "pmb",    "mathnormal", "ensuremath"};
/// Accents, each of which turns a name into another name.
constexpr std::pair<std::string_view, std::string_view> kAccents[] = {
    {"bar", "bar"},     {"overline", "bar"},      {"hat", "hat"}, {"widehat", "hat"},
    {"tilde", "tilde"}, {"widetilde", "tilde"},   {"dot", "dot"}, {"ddot", "ddot"},
    {"vec", "vec"},     {"overrightarrow", "vec"}};
constexpr std::string_view kLetters[] = {
    "alpha",    "beta",    "gamma", "delta",  "epsilon", "varepsilon", "zeta",  "eta",   "theta",
    "vartheta", "iota",    "kappa", "lambda", "mu",      "nu",         "xi",    "rho",   "sigma",
    "tau",      "upsilon", "phi",   "varphi", "chi",     "psi",        "omega", "Gamma", "Delta",
    "Theta",    "Lambda",  "Xi",    "Sigma",  "Phi",     "Psi",        "Omega", "ell",   "emptyset",
    "hbar",     "R",       "N",     "Z",      "Q",       "C",          "T"};
constexpr std::string_view kMatrices[] = {"pmatrix", "bmatrix",     "matrix", "vmatrix",
                                          "Bmatrix", "smallmatrix", "array"};

/// Replaces a number written with only +, -, * and / by its complex conjugate. Returns false for
/// any other expression.
bool conjugate(Node& node) {
  if (node.kind == Kind::symbol && node.text == "i") {
    node = {Kind::negate, {}, {}, {symbol("i")}};
    return true;
  }
  constexpr Kind kKinds[] = {Kind::number, Kind::add, Kind::multiply, Kind::divide, Kind::negate};
  return std::find(std::begin(kKinds), std::end(kKinds), node.kind) != std::end(kKinds) &&
         std::all_of(node.children.begin(), node.children.end(),
                     [](Node& child) { return conjugate(child); });
}

/// An accent over an expression: another name for a name, the conjugate of a number.
Node accented(const std::string& accent, Node inside) {
  if (inside.kind == Kind::symbol && inside.text != "i") return symbol(accent + ' ' + inside.text);
  const auto is_letter = [](const Node& n) { return n.kind == Kind::symbol; };
  if (inside.kind == Kind::multiply &&
      std::all_of(inside.children.begin(), inside.children.end(), is_letter)) {
    std::string name = accent;
    for (const Node& letter : inside.children) name += ' ' + letter.text;
    return symbol(name);
  }
  if (accent != "bar" || !conjugate(inside)) unsupported("an accent over an expression");
  return inside;
}

Node parse_root(Cursor& in, bool cubic) {
  Node degree = number(cubic ? 3 : 2);
  if (in.take("[")) {
    degree = parse_sum(in);
    in.need("]");
  }
  Node inside = parse_argument(in, false);
  return node(Kind::power, std::move(inside), node(Kind::divide, number(1), std::move(degree)));
}

/// Reads the argument of a function: in brackets, or the factors side by side up to the next
/// function, bracket or operator. \sin 2x \cos x is sin(2x) cos(x).
Node parse_function_argument(Cursor& in) {
  if (in.is_sign("(")) return parse_bracketed(in);
  if (in.is_sign("{")) return parse_argument(in, false);
  bool negative = false;
  while (in.is_sign("-") || in.is_sign("+")) negative ^= in.is_sign("-"), in.advance();
  Node value = parse_factor(in);
  while (at_factor(in) && !in.is_sign("(") && !in.is_sign("{") &&
         in.token().kind != TokenKind::words && in.token().kind != TokenKind::number &&
         !(in.token().kind == TokenKind::command && is_function(in.token().text)))
    value = node(Kind::multiply, std::move(value), parse_factor(in));
  return negative ? node(Kind::negate, std::move(value)) : std::move(value);
}

/// Reads a function with its power, base and argument: \sin^2 x, \sin^{-1}x, \log_2 8, \ln(x).
Node parse_function(Cursor& in, std::string name) {
  Node base, power;
  bool has_base = false, has_power = false;
  while (in.is_sign("^") || in.is_sign("_")) {
    if (in.take("_")) base = parse_argument(in, false), has_base = true;
    else in.advance(), power = parse_exponent(in), has_power = true;
  }
  const bool inverse = has_power && power.kind == Kind::negate &&
                       power.children[0].kind == Kind::number && *power.children[0].value == 1;
  if (inverse && (name == "sin" || name == "cos" || name == "tan"))
    name = "arc" + name, has_power = false;
  Node value = call(name, parse_function_argument(in));
  if (name == "log" && !has_base) in.met.logarithm = true;
  if (name == "log10" || (name == "log" && !has_base && in.reading().decimal_logarithm))
    base = number(10), has_base = true;
  if (name == "log" || name == "log10") value.text = "ln";
  if (has_base) value = node(Kind::divide, std::move(value), call("ln", std::move(base)));
  return has_power ? node(Kind::power, std::move(value), std::move(power)) : std::move(value);
}

std::string parse_environment_name(Cursor& in) {
  if (!in.is_sign("{")) unreadable("an environment without a name");
  const std::size_t close = group_end(in.tokens().text(), in.token().begin);
  if (close == std::string_view::npos) unreadable("a brace that is never closed");
  std::string name(in.tokens().text().substr(in.token().begin + 1, close - in.token().begin - 2));
  in.advance_to(close);
  return name;
}

Node parse_matrix(Cursor& in) {
  const std::string name = parse_environment_name(in);
  if (name == "cases") unsupported("cases are not compared");
  if (!holds(kMatrices, name)) unreadable("an environment that is no matrix");
  if (name == "array" && in.is_sign("{")) parse_environment_name(in);
  std::vector<Node> cells;
  std::size_t columns = 0, in_row = 0;
  for (;;) {
    if (in.is_command("end")) break;
    cells.push_back(parse_relation(in));
    ++in_row;
    if (in.take("&")) continue;
    if (columns != 0 && in_row != columns) unreadable("rows of different lengths");
    columns = in_row, in_row = 0;
    if (!in.take_command("\\")) break;
  }
  if (!in.take_command("end")) unreadable("a matrix that is never closed");
  parse_environment_name(in);
  if (cells.empty()) unreadable("an empty matrix");
  if (name == "vmatrix") unsupported("determinants are not computed");
  Node made = with(Kind::matrix, std::move(cells));
  made.value = mpq_class(static_cast<unsigned long>(columns));
  return made;
}

}  // namespace

Node parse_command(Cursor& in) {
  const std::string name = in.token().text;
  if (name == "{") return in.advance(), parse_set(in);
  if (const char* unit = currency_here(in)) return in.advance(), unit_of(parse_factor(in), unit);
  in.advance();
  if (holds(kLetters, name)) return name == "emptyset" ? with(Kind::set, {}) : symbol(name);
  if (name == "frac" || name == "binom") {
    Node top = parse_argument(in, true), bottom = parse_argument(in, true);
    return name == "frac" ? node(Kind::divide, std::move(top), std::move(bottom))
                          : call("binomial", std::move(top), std::move(bottom));
  }
  if (name == "sqrt" || name == "cbrt") return parse_root(in, name == "cbrt");
  if (name == "pi" || name == "infty")
    return name == "pi" ? symbol("pi") : Node{Kind::infinity, {}, {}, {}};
  if (is_function(name)) return parse_function(in, name);
  if (name == "lfloor" || name == "lceil") {
    Node inside = parse_sum(in);
    if (!in.take_command(name == "lfloor" ? "rfloor" : "rceil"))
      unreadable("a bracket that is never closed");
    return call(name == "lfloor" ? "floor" : "ceil", std::move(inside));
  }
  if (name == "begin") return parse_matrix(in);
  if (name == "%") return number(1);
  if (holds(kWrappers, name)) return parse_argument(in, false);
  for (const auto& [command, accent] : kAccents)
    if (command == name) return accented(std::string(accent), parse_argument(in, false));
  constexpr std::string_view kUnsupported[] = {"int",   "sum",  "prod", "lim",  "partial",
                                               "nabla", "gcd",  "lcm",  "max",  "min",
                                               "det",   "pmod", "bmod", "oint", "iint"};
  if (holds(kUnsupported, name)) unsupported("\\" + name + " is not computed");
  unreadable("\\" + name.substr(0, 20) + " where a value should stand");
}

}  // namespace rollcall::reward::math
