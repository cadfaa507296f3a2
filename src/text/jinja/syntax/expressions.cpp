// Each level of operators calls the next tighter one, and recursion is counted at the levels to
// which brackets, conditions and signs return.
#include "text/jinja/syntax/expressions.hpp"

#include "text/jinja/syntax/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

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

ExpressionPtr unary(ParserState& p, bool with_filter = true) {
  const NestingLevel level(p);
  const Place place = p.tokens.current().place;
  ExpressionPtr e;
  if (p.tokens.take_op("-"))
    e = make_expression(ExpressionKind::negative, place, parts_of(unary(p, false)));
  else if (p.tokens.take_op("+"))
    e = make_expression(ExpressionKind::positive, place, parts_of(unary(p, false)));
  else e = parse_primary(p);
  e = parse_postfix(p, std::move(e));
  return with_filter ? parse_filters_and_tests(p, std::move(e)) : std::move(e);
}

/// Unlike in Python, a ** b ** c is (a ** b) ** c, and -a ** b is (-a) ** b.
ExpressionPtr power(ParserState& p) {
  auto e = unary(p);
  while (p.tokens.is_op("**")) {
    const Place place = p.tokens.take().place;
    e = make_expression(ExpressionKind::binary, place, parts_of(std::move(e), unary(p)));
    e->operators = {Operator::power};
  }
  return e;
}

ExpressionPtr product(ParserState& p) {
  auto e = power(p);
  while (const auto* row = row_of(kProduct, p.tokens.current())) {
    const Place place = p.tokens.take().place;
    e = make_expression(ExpressionKind::binary, place, parts_of(std::move(e), power(p)));
    e->operators = {row->op};
  }
  return e;
}

ExpressionPtr concat(ParserState& p) {
  const Place place = p.tokens.current().place;
  std::vector<ExpressionPtr> parts = parts_of(product(p));
  while (p.tokens.take_op("~")) parts.push_back(product(p));
  return parts.size() == 1 ? std::move(parts.front())
                           : make_expression(ExpressionKind::concat, place, std::move(parts));
}

ExpressionPtr sum(ParserState& p) {
  auto e = concat(p);
  while (const auto* row = row_of(kSum, p.tokens.current())) {
    const Place place = p.tokens.take().place;
    e = make_expression(ExpressionKind::binary, place, parts_of(std::move(e), concat(p)));
    e->operators = {row->op};
  }
  return e;
}

ExpressionPtr compare(ParserState& p) {
  const Place place = p.tokens.current().place;
  std::vector<ExpressionPtr> parts = parts_of(sum(p));
  std::vector<Operator> operators;
  while (true) {
    if (const auto* row = row_of(kCompare, p.tokens.current())) {
      p.tokens.take();
      operators.push_back(row->op);
    } else if (p.tokens.take_name("in")) {
      operators.push_back(Operator::in);
    } else if (p.tokens.is_name("not") && p.tokens.next().kind == TokenKind::name &&
               p.tokens.next().text == "in") {
      p.tokens.take();
      p.tokens.take();
      operators.push_back(Operator::not_in);
    } else {
      break;
    }
    parts.push_back(sum(p));
  }
  if (operators.empty()) return std::move(parts.front());
  auto e = make_expression(ExpressionKind::compare, place, std::move(parts));
  e->operators = std::move(operators);
  return e;
}

ExpressionPtr negation(ParserState& p) {
  const NestingLevel level(p);
  const Place place = p.tokens.current().place;
  if (p.tokens.take_name("not"))
    return make_expression(ExpressionKind::negation, place, parts_of(negation(p)));
  return compare(p);
}

ExpressionPtr both(ParserState& p) {
  auto e = negation(p);
  for (Place place = p.tokens.current().place; p.tokens.take_name("and");
       place = p.tokens.current().place)
    e = make_expression(ExpressionKind::both, place, parts_of(std::move(e), negation(p)));
  return e;
}

ExpressionPtr either(ParserState& p) {
  auto e = both(p);
  for (Place place = p.tokens.current().place; p.tokens.take_name("or");
       place = p.tokens.current().place)
    e = make_expression(ExpressionKind::either, place, parts_of(std::move(e), both(p)));
  return e;
}

ExpressionPtr conditional(ParserState& p) {
  const NestingLevel level(p);
  const Place place = p.tokens.current().place;
  const std::size_t unknown = p.unknown.count();
  auto e = either(p);
  while (p.tokens.take_name("if")) {
    auto test = either(p);
    ExpressionPtr otherwise = p.tokens.take_name("else") ? conditional(p) : nullptr;
    std::vector<ExpressionPtr> parts = parts_of(std::move(test), std::move(e));
    parts.push_back(std::move(otherwise));
    e = make_expression(ExpressionKind::conditional, place, std::move(parts));
    p.unknown.soften(unknown);
  }
  return e;
}

}  // namespace

ExpressionPtr parse_expression(ParserState& p, bool with_condition) {
  const NestingLevel level(p);
  return with_condition ? conditional(p) : either(p);
}

ExpressionPtr parse_tuple(ParserState& p, bool with_condition,
                          std::initializer_list<std::string_view> ends, bool parentheses) {
  const Place place = p.tokens.current().place;
  std::vector<ExpressionPtr> parts;
  bool is_tuple = false;
  while (true) {
    if (!parts.empty()) p.tokens.expect_op(",");
    const bool end =
        p.tokens.is(TokenKind::variable_end) || p.tokens.is(TokenKind::block_end) ||
        p.tokens.is_op(")") ||
        std::any_of(ends.begin(), ends.end(), [&](auto name) { return p.tokens.is_name(name); });
    if (end) break;
    parts.push_back(parse_expression(p, with_condition));
    if (!p.tokens.is_op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !parts.empty()) return std::move(parts.front());
  if (!is_tuple && !parentheses)
    p.tokens.fail(fmt::format("Expected an expression, got '{}'", describe(p.tokens.current())));
  return make_expression(ExpressionKind::tuple, place, std::move(parts));
}

}  // namespace rollcall::text::jinja
