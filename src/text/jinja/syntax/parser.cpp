// Expressions, from the loosest operator to the tightest.
#include "text/jinja/syntax/parser.hpp"

#include "text/jinja/nested.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text::jinja {
namespace {

struct OperatorRow {
  std::string_view text;
  Operator op;
};
constexpr OperatorRow kCompare[] = {{"==", Operator::equal},  {"!=", Operator::not_equal},
                                    {"<", Operator::less},    {"<=", Operator::less_equal},
                                    {">", Operator::greater}, {">=", Operator::greater_equal}};
constexpr OperatorRow kSum[] = {{"+", Operator::add}, {"-", Operator::subtract}};
constexpr OperatorRow kProduct[] = {{"*", Operator::multiply},
                                    {"/", Operator::divide},
                                    {"//", Operator::floor_divide},
                                    {"%", Operator::modulo}};

const OperatorRow* row_of(std::span<const OperatorRow> rows, const Token& token) {
  if (token.kind != TokenKind::op) return nullptr;
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.text == token.text; });
  return row == rows.end() ? nullptr : &*row;
}

std::vector<ExpressionPtr> parts_of(ExpressionPtr a, ExpressionPtr b) {
  std::vector<ExpressionPtr> parts;
  parts.push_back(std::move(a));
  parts.push_back(std::move(b));
  return parts;
}

std::vector<ExpressionPtr> parts_of(ExpressionPtr a) {
  std::vector<ExpressionPtr> parts;
  parts.push_back(std::move(a));
  return parts;
}

}  // namespace

ExpressionPtr Parser::make(ExpressionKind kind, const Place& place,
                           std::vector<ExpressionPtr> parts) {
  auto e = std::make_unique<Expression>(Expression{kind, place});
  for (const auto& part : parts) {
    if (part) e->height = std::max(e->height, 1 + part->height);
  }
  if (e->height > kTreeHeight)
    throw Fault{FaultKind::limit, "an expression of too many parts", place};
  e->parts = std::move(parts);
  return e;
}

ExpressionPtr Parser::tuple(bool with_condition, std::initializer_list<std::string_view> ends,
                            bool parentheses) {
  const Place place = current().place;
  std::vector<ExpressionPtr> parts;
  bool is_tuple = false;
  while (true) {
    if (!parts.empty()) expect_op(",");
    const bool end =
        current().kind == TokenKind::variable_end || current().kind == TokenKind::block_end ||
        is_op(")") ||
        std::any_of(ends.begin(), ends.end(), [&](auto name) { return is_name(name); });
    if (end) break;
    parts.push_back(expression(with_condition));
    if (!is_op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !parts.empty()) return std::move(parts.front());
  if (!is_tuple && !parentheses)
    fail_at(current().place, fmt::format("Expected an expression, got '{}'", describe(current())));
  return make(ExpressionKind::tuple, place, std::move(parts));
}

ExpressionPtr Parser::expression(bool with_condition) {
  const Nested nested(*this);
  return with_condition ? conditional() : either();
}

ExpressionPtr Parser::conditional() {
  const Nested nested(*this);
  const Place place = current().place;
  const std::size_t unknown = unknown_.size();
  auto e = either();
  while (take_name("if")) {
    auto test = either();
    ExpressionPtr otherwise = take_name("else") ? conditional() : nullptr;
    std::vector<ExpressionPtr> parts = parts_of(std::move(test), std::move(e));
    parts.push_back(std::move(otherwise));
    e = make(ExpressionKind::conditional, place, std::move(parts));
    soften(unknown);
  }
  return e;
}

ExpressionPtr Parser::either() {
  auto e = both();
  for (Place place = current().place; take_name("or"); place = current().place)
    e = make(ExpressionKind::either, place, parts_of(std::move(e), both()));
  return e;
}

ExpressionPtr Parser::both() {
  auto e = negation();
  for (Place place = current().place; take_name("and"); place = current().place)
    e = make(ExpressionKind::both, place, parts_of(std::move(e), negation()));
  return e;
}

ExpressionPtr Parser::negation() {
  const Nested nested(*this);
  const Place place = current().place;
  if (take_name("not")) return make(ExpressionKind::negation, place, parts_of(negation()));
  return compare();
}

ExpressionPtr Parser::compare() {
  const Place place = current().place;
  std::vector<ExpressionPtr> parts = parts_of(sum());
  std::vector<Operator> operators;
  while (true) {
    if (const auto* row = row_of(kCompare, current())) {
      take();
      operators.push_back(row->op);
    } else if (take_name("in")) {
      operators.push_back(Operator::in);
    } else if (is_name("not") && ahead().kind == TokenKind::name && ahead().text == "in") {
      take();
      take();
      operators.push_back(Operator::not_in);
    } else {
      break;
    }
    parts.push_back(sum());
  }
  if (operators.empty()) return std::move(parts.front());
  auto e = make(ExpressionKind::compare, place, std::move(parts));
  e->operators = std::move(operators);
  return e;
}

ExpressionPtr Parser::sum() {
  auto e = concat();
  while (const auto* row = row_of(kSum, current())) {
    const Place place = take().place;
    e = make(ExpressionKind::binary, place, parts_of(std::move(e), concat()));
    e->operators = {row->op};
  }
  return e;
}

ExpressionPtr Parser::concat() {
  const Place place = current().place;
  std::vector<ExpressionPtr> parts = parts_of(product());
  while (take_op("~")) parts.push_back(product());
  return parts.size() == 1 ? std::move(parts.front())
                           : make(ExpressionKind::concat, place, std::move(parts));
}

ExpressionPtr Parser::product() {
  auto e = power();
  while (const auto* row = row_of(kProduct, current())) {
    const Place place = take().place;
    e = make(ExpressionKind::binary, place, parts_of(std::move(e), power()));
    e->operators = {row->op};
  }
  return e;
}

/// Unlike Python's, Jinja's ** pairs from the left, and a minus before it binds tighter.
ExpressionPtr Parser::power() {
  auto e = unary();
  while (is_op("**")) {
    const Place place = take().place;
    e = make(ExpressionKind::binary, place, parts_of(std::move(e), unary()));
    e->operators = {Operator::power};
  }
  return e;
}

ExpressionPtr Parser::unary(bool with_filter) {
  const Nested nested(*this);
  const Place place = current().place;
  ExpressionPtr e;
  if (take_op("-")) e = make(ExpressionKind::negative, place, parts_of(unary(false)));
  else if (take_op("+")) e = make(ExpressionKind::positive, place, parts_of(unary(false)));
  else e = primary();
  e = postfix(std::move(e));
  return with_filter ? filter_expression(std::move(e)) : std::move(e);
}

ExpressionPtr Parser::primary(bool with_namespace) {
  if (current().kind == TokenKind::name) return name_or_constant(with_namespace);
  if (current().kind == TokenKind::string || current().kind == TokenKind::integer ||
      current().kind == TokenKind::real)
    return literal();
  if (take_op("(")) {
    auto e = tuple(true, {}, true);
    expect_op(")");
    return e;
  }
  if (is_op("[") || is_op("{")) return list_or_dict(take().text == "{");
  fail_at(current().place, fmt::format("unexpected '{}'", describe(current())));
}

ExpressionPtr Parser::name_or_constant(bool with_namespace) {
  const Token token = take();
  auto e = make(ExpressionKind::constant, token.place);
  if (token.text == "none" || token.text == "None") return e;
  e->constant = boolean(token.text == "true" || token.text == "True");
  if (e->constant.boolean || token.text == "false" || token.text == "False") return e;
  if (token.text == "self")
    throw Fault{FaultKind::unsupported, "the variable self is not supported", token.place};
  e = make(ExpressionKind::name, token.place);
  e->symbol = symbol(token.text);
  if (with_namespace && take_op(".")) {
    e->kind = ExpressionKind::namespace_ref;
    e->text = any_name();
  }
  for (Signature* macro : macros_) {
    macro->uses_caller |= e->symbol == kCallerSymbol;
    macro->uses_varargs |= e->symbol == kVarargsSymbol;
    macro->uses_kwargs |= e->symbol == kKwargsSymbol;
  }
  return e;
}

ExpressionPtr Parser::literal() {
  const Token token = take();
  auto e = make(ExpressionKind::constant, token.place);
  if (token.too_large)
    throw Fault{FaultKind::unsupported,
                fmt::format("an integer beyond 64 bits ({}) is not supported", token.text),
                token.place};
  if (token.kind == TokenKind::integer) e->constant = integer(token.integer);
  if (token.kind == TokenKind::real) e->constant = real(token.real);
  if (token.kind != TokenKind::string) return e;
  std::string text = token.text;
  while (current().kind == TokenKind::string) text += take().text;  // neighbours are one string
  e->constant.kind = Kind::string;
  e->constant.object = std::make_shared<Text>(nullptr, std::move(text));
  return e;
}

/// Behind the opening bracket.
ExpressionPtr Parser::list_or_dict(bool dict) {
  const Place place = tokens_[at_ - 1].place;
  const char* closing = dict ? "}" : "]";
  std::vector<ExpressionPtr> parts;
  while (!is_op(closing)) {
    if (!parts.empty()) expect_op(",");
    if (is_op(closing)) break;
    parts.push_back(expression());
    if (!dict) continue;
    expect_op(":");
    parts.push_back(expression());
  }
  expect_op(closing);
  return make(dict ? ExpressionKind::dict : ExpressionKind::list, place, std::move(parts));
}

ExpressionPtr Parser::postfix(ExpressionPtr e) {
  while (true) {
    if (is_op(".") || is_op("[")) e = subscript(std::move(e));
    else if (is_op("(")) e = call(std::move(e));
    else return e;
  }
}

ExpressionPtr Parser::filter_expression(ExpressionPtr e) {
  while (true) {
    if (is_op("|")) e = filter(std::move(e));
    else if (is_name("is")) e = test(std::move(e));
    else if (is_op("(")) e = call(std::move(e));
    else return e;
  }
}

ExpressionPtr Parser::subscript(ExpressionPtr e) {
  const Token opening = take();
  if (opening.text == "[") return subscribed(std::move(e), opening.place);
  if (current().kind == TokenKind::name) {
    e = make(ExpressionKind::attribute, opening.place, parts_of(std::move(e)));
    e->text = take().text;
    return e;
  }
  if (current().kind != TokenKind::integer) fail_at(current().place, "expected name or number");
  return make(ExpressionKind::item, opening.place, parts_of(std::move(e), literal()));
}

ExpressionPtr Parser::subscribed(ExpressionPtr object, const Place& place) {
  ExpressionPtr key;
  if (is_op("]"))
    return make(ExpressionKind::item, place,
                parts_of(std::move(object), make(ExpressionKind::tuple, place)));
  if (!is_op(":")) key = expression();
  if (is_op(":")) {
    std::vector<ExpressionPtr> parts = parts_of(std::move(object), std::move(key));
    for (int i = 0; i < 2; ++i)
      parts.push_back(take_op(":") && !is_op("]") && !is_op(":") && !is_op(",") ? expression()
                                                                                : nullptr);
    if (is_op(","))
      throw Fault{FaultKind::unsupported, "a slice of several dimensions is not supported",
                  current().place};
    expect_op("]");
    return make(ExpressionKind::slice, place, std::move(parts));
  }
  if (is_op(",")) {
    std::vector<ExpressionPtr> keys = parts_of(std::move(key));
    while (!is_op("]")) {
      expect_op(",");
      if (is_op(":"))
        throw Fault{FaultKind::unsupported, "a slice of several dimensions is not supported",
                    current().place};
      keys.push_back(expression());
    }
    key = make(ExpressionKind::tuple, place, std::move(keys));
  }
  expect_op("]");
  return make(ExpressionKind::item, place, parts_of(std::move(object), std::move(key)));
}

ExpressionPtr Parser::call(ExpressionPtr callee) {
  auto e = make(ExpressionKind::call, current().place, parts_of(std::move(callee)));
  e->arguments = arguments();
  finish(*e, {}, "");
  return e;
}

std::unique_ptr<ArgumentList> Parser::arguments() {
  const Place place = current().place;
  const auto ensure = [&](bool ok) {
    if (!ok) fail_at(place, "invalid syntax for function call expression");
  };
  auto list = std::make_unique<ArgumentList>();
  expect_op("(");
  for (bool first = true; !is_op(")"); first = false) {
    if (!first) expect_op(",");
    if (is_op(")")) break;
    if (take_op("*")) {
      ensure(!list->more && !list->more_named);
      list->more = expression();
    } else if (take_op("**")) {
      ensure(!list->more_named);
      list->more_named = expression();
    } else if (current().kind == TokenKind::name && ahead().kind == TokenKind::op &&
               ahead().text == "=") {
      ensure(!list->more_named);
      const std::string name = take().text;
      take();
      const bool is_new = std::none_of(list->named.begin(), list->named.end(),
                                       [&](const auto& other) { return other.first == name; });
      if (!is_new) fail_at(place, fmt::format("keyword argument repeated: {}", name));
      list->named.emplace_back(name, expression());
    } else {
      ensure(!list->more && !list->more_named && list->named.empty());
      list->positional.push_back(expression());
    }
  }
  expect_op(")");
  return list;
}

std::string Parser::dotted_name() {
  std::string name = any_name();
  while (take_op(".")) name.append(1, '.').append(any_name());
  return name;
}

ExpressionPtr Parser::filter(ExpressionPtr value, bool inline_first) {
  while (is_op("|") || inline_first) {
    if (!inline_first) take();
    inline_first = false;
    value = make(ExpressionKind::filter, current().place, parts_of(std::move(value)));
    value->text = dotted_name();
    value->arguments = is_op("(") ? arguments() : std::make_unique<ArgumentList>();
    finish(*value, filters(), "filter");
  }
  return value;
}

ExpressionPtr Parser::test(ExpressionPtr value) {
  const Place place = take().place;
  const bool negated = take_name("not");
  auto e = make(ExpressionKind::test, place, parts_of(std::move(value)));
  e->text = dotted_name();
  e->arguments = std::make_unique<ArgumentList>();
  const TokenKind next = current().kind;
  if (is_op("(")) {
    e->arguments = arguments();
  } else if ((next == TokenKind::name && !is_name("else") && !is_name("or") && !is_name("and")) ||
             next == TokenKind::string || next == TokenKind::integer || next == TokenKind::real ||
             is_op("[") || is_op("{")) {
    if (is_name("is")) fail_at(current().place, "You cannot chain multiple tests with is");
    e->arguments->positional.push_back(postfix(primary()));
  }
  finish(*e, tests(), "test");
  return negated ? make(ExpressionKind::negation, place, parts_of(std::move(e))) : std::move(e);
}

/// The height with the arguments, and the row of a filter or test.
void Parser::finish(Expression& e, std::span<const Row> rows, const char* what) {
  const auto higher = [&](const ExpressionPtr& part) {
    if (part) e.height = std::max(e.height, 1 + part->height);
  };
  for (const auto& part : e.arguments->positional) higher(part);
  for (const auto& [name, part] : e.arguments->named) higher(part);
  higher(e.arguments->more);
  higher(e.arguments->more_named);
  if (e.height > kTreeHeight)
    throw Fault{FaultKind::limit, "an expression of too many parts", e.place};
  if (e.kind == ExpressionKind::call || (e.row = find_row(rows, e.text))) return;
  const bool left_out = is_known_to_jinja(e.text);
  unknown_.push_back({{left_out ? FaultKind::unsupported : FaultKind::syntax,
                       left_out ? fmt::format("the {} '{}' is not supported", what, e.text)
                                : fmt::format("No {} named '{}'.", what, e.text),
                       e.place},
                      false});
}

}  // namespace rollcall::text::jinja
