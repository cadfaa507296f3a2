// Operands and the parts after them. Filters and tests are looked up in their tables.
#include "text/jinja/syntax/operands.hpp"

#include "text/jinja/syntax/expressions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace rollcall::text::jinja {
namespace {

ExpressionPtr name_or_constant(ParserState& p, bool with_namespace) {
  const Token token = p.tokens.take();
  auto e = make_expression(ExpressionKind::constant, token.place);
  if (token.text == "none" || token.text == "None") return e;
  e->constant = boolean(token.text == "true" || token.text == "True");
  if (e->constant.boolean || token.text == "false" || token.text == "False") return e;
  if (token.text == "self")
    throw Fault{FaultKind::unsupported, "the variable self is not supported", token.place};
  e = make_expression(ExpressionKind::name, token.place);
  e->symbol = p.symbols.number(token.text);
  if (with_namespace && p.tokens.take_op(".")) {
    e->kind = ExpressionKind::namespace_ref;
    e->text = p.tokens.expect_any_name();
  }
  for (Signature* macro : p.macros) {
    macro->uses_caller |= e->symbol == kCallerSymbol;
    macro->uses_varargs |= e->symbol == kVarargsSymbol;
    macro->uses_kwargs |= e->symbol == kKwargsSymbol;
  }
  return e;
}

ExpressionPtr literal(ParserState& p) {
  const Token token = p.tokens.take();
  auto e = make_expression(ExpressionKind::constant, token.place);
  if (token.too_large)
    throw Fault{FaultKind::unsupported,
                fmt::format("an integer beyond 64 bits ({}) is not supported", token.text),
                token.place};
  if (token.kind == TokenKind::integer) e->constant = integer(token.integer);
  if (token.kind == TokenKind::real) e->constant = real(token.real);
  if (token.kind != TokenKind::string) return e;
  std::string text = token.text;
  while (p.tokens.is(TokenKind::string))
    text += p.tokens.take().text;  // adjacent strings are joined
  e->constant.kind = Kind::string;
  e->constant.object = std::make_shared<Text>(nullptr, std::move(text));
  return e;
}

/// A list or a dictionary. Its opening bracket was just taken.
ExpressionPtr list_or_dict(ParserState& p, bool dict) {
  const Place place = p.tokens.previous().place;
  const char* closing = dict ? "}" : "]";
  std::vector<ExpressionPtr> parts;
  while (!p.tokens.is_op(closing)) {
    if (!parts.empty()) p.tokens.expect_op(",");
    if (p.tokens.is_op(closing)) break;
    parts.push_back(parse_expression(p));
    if (!dict) continue;
    p.tokens.expect_op(":");
    parts.push_back(parse_expression(p));
  }
  p.tokens.expect_op(closing);
  return make_expression(dict ? ExpressionKind::dict : ExpressionKind::list, place,
                         std::move(parts));
}

std::unique_ptr<ArgumentList> arguments(ParserState& p) {
  const Place place = p.tokens.current().place;
  const auto ensure = [&](bool ok) {
    if (!ok) fail_at(place, "invalid syntax for function call expression");
  };
  auto list = std::make_unique<ArgumentList>();
  p.tokens.expect_op("(");
  for (bool first = true; !p.tokens.is_op(")"); first = false) {
    if (!first) p.tokens.expect_op(",");
    if (p.tokens.is_op(")")) break;
    if (p.tokens.take_op("*")) {
      ensure(!list->more && !list->more_named);
      list->more = parse_expression(p);
    } else if (p.tokens.take_op("**")) {
      ensure(!list->more_named);
      list->more_named = parse_expression(p);
    } else if (p.tokens.is(TokenKind::name) && p.tokens.next().kind == TokenKind::op &&
               p.tokens.next().text == "=") {
      ensure(!list->more_named);
      const std::string name = p.tokens.take().text;
      p.tokens.take();
      const bool is_new = std::none_of(list->named.begin(), list->named.end(),
                                       [&](const auto& other) { return other.first == name; });
      if (!is_new) fail_at(place, fmt::format("keyword argument repeated: {}", name));
      list->named.emplace_back(name, parse_expression(p));
    } else {
      ensure(!list->more && !list->more_named && list->named.empty());
      list->positional.push_back(parse_expression(p));
    }
  }
  p.tokens.expect_op(")");
  return list;
}

/// The name of a filter or test, which may have points in it.
std::string dotted_name(ParserState& p) {
  std::string name = p.tokens.expect_any_name();
  while (p.tokens.take_op(".")) name.append(1, '.').append(p.tokens.expect_any_name());
  return name;
}

/// Completes an expression with arguments. Gives a filter or test its table row, or notes that it
/// has none.
void finish(ParserState& p, Expression& e, std::span<const Row> rows, const char* what) {
  include_arguments(e);
  if (e.kind == ExpressionKind::call || (e.row = find_row(rows, e.text))) return;
  const bool left_out = is_known_to_jinja(e.text);
  p.unknown.add({left_out ? FaultKind::unsupported : FaultKind::syntax,
                 left_out ? fmt::format("the {} '{}' is not supported", what, e.text)
                          : fmt::format("No {} named '{}'.", what, e.text),
                 e.place});
}

/// The item or slice in square brackets, after the opening one. Several keys are a tuple.
ExpressionPtr subscribed(ParserState& p, ExpressionPtr object, const Place& place) {
  ExpressionPtr key;
  if (p.tokens.is_op("]"))
    return make_expression(
        ExpressionKind::item, place,
        parts_of(std::move(object), make_expression(ExpressionKind::tuple, place)));
  if (!p.tokens.is_op(":")) key = parse_expression(p);
  if (p.tokens.is_op(":")) {
    std::vector<ExpressionPtr> parts = parts_of(std::move(object), std::move(key));
    for (int i = 0; i < 2; ++i)
      parts.push_back(p.tokens.take_op(":") && !p.tokens.is_op("]") && !p.tokens.is_op(":") &&
                              !p.tokens.is_op(",")
                          ? parse_expression(p)
                          : nullptr);
    if (p.tokens.is_op(","))
      throw Fault{FaultKind::unsupported, "a slice of several dimensions is not supported",
                  p.tokens.current().place};
    p.tokens.expect_op("]");
    return make_expression(ExpressionKind::slice, place, std::move(parts));
  }
  if (p.tokens.is_op(",")) {
    std::vector<ExpressionPtr> keys = parts_of(std::move(key));
    while (!p.tokens.is_op("]")) {
      p.tokens.expect_op(",");
      if (p.tokens.is_op(":"))
        throw Fault{FaultKind::unsupported, "a slice of several dimensions is not supported",
                    p.tokens.current().place};
      keys.push_back(parse_expression(p));
    }
    key = make_expression(ExpressionKind::tuple, place, std::move(keys));
  }
  p.tokens.expect_op("]");
  return make_expression(ExpressionKind::item, place, parts_of(std::move(object), std::move(key)));
}

ExpressionPtr subscript(ParserState& p, ExpressionPtr e) {
  const Token opening = p.tokens.take();
  if (opening.text == "[") return subscribed(p, std::move(e), opening.place);
  if (p.tokens.is(TokenKind::name)) {
    e = make_expression(ExpressionKind::attribute, opening.place, parts_of(std::move(e)));
    e->text = p.tokens.take().text;
    return e;
  }
  if (!p.tokens.is(TokenKind::integer)) p.tokens.fail("expected name or number");
  return make_expression(ExpressionKind::item, opening.place, parts_of(std::move(e), literal(p)));
}

ExpressionPtr call(ParserState& p, ExpressionPtr callee) {
  auto e =
      make_expression(ExpressionKind::call, p.tokens.current().place, parts_of(std::move(callee)));
  e->arguments = arguments(p);
  finish(p, *e, {}, "");
  return e;
}

ExpressionPtr test(ParserState& p, ExpressionPtr value) {
  const Place place = p.tokens.take().place;
  const bool negated = p.tokens.take_name("not");
  auto e = make_expression(ExpressionKind::test, place, parts_of(std::move(value)));
  e->text = dotted_name(p);
  e->arguments = std::make_unique<ArgumentList>();
  const TokenKind next = p.tokens.current().kind;
  if (p.tokens.is_op("(")) {
    e->arguments = arguments(p);
  } else if ((next == TokenKind::name && !p.tokens.is_name("else") && !p.tokens.is_name("or") &&
              !p.tokens.is_name("and")) ||
             next == TokenKind::string || next == TokenKind::integer || next == TokenKind::real ||
             p.tokens.is_op("[") || p.tokens.is_op("{")) {
    if (p.tokens.is_name("is")) p.tokens.fail("You cannot chain multiple tests with is");
    e->arguments->positional.push_back(parse_postfix(p, parse_primary(p)));
  }
  finish(p, *e, tests(), "test");
  return negated ? make_expression(ExpressionKind::negation, place, parts_of(std::move(e)))
                 : std::move(e);
}

}  // namespace

ExpressionPtr parse_primary(ParserState& p, bool with_namespace) {
  if (p.tokens.is(TokenKind::name)) return name_or_constant(p, with_namespace);
  if (p.tokens.is(TokenKind::string) || p.tokens.is(TokenKind::integer) ||
      p.tokens.is(TokenKind::real))
    return literal(p);
  if (p.tokens.take_op("(")) {
    auto e = parse_tuple(p, true, {}, true);
    p.tokens.expect_op(")");
    return e;
  }
  if (p.tokens.is_op("[") || p.tokens.is_op("{"))
    return list_or_dict(p, p.tokens.take().text == "{");
  p.tokens.fail(fmt::format("unexpected '{}'", describe(p.tokens.current())));
}

ExpressionPtr parse_postfix(ParserState& p, ExpressionPtr e) {
  while (true) {
    if (p.tokens.is_op(".") || p.tokens.is_op("[")) e = subscript(p, std::move(e));
    else if (p.tokens.is_op("(")) e = call(p, std::move(e));
    else return e;
  }
}

ExpressionPtr parse_filters_and_tests(ParserState& p, ExpressionPtr e) {
  while (true) {
    if (p.tokens.is_op("|")) e = parse_filters(p, std::move(e));
    else if (p.tokens.is_name("is")) e = test(p, std::move(e));
    else if (p.tokens.is_op("(")) e = call(p, std::move(e));
    else return e;
  }
}

ExpressionPtr parse_filters(ParserState& p, ExpressionPtr value, bool inline_first) {
  while (p.tokens.is_op("|") || inline_first) {
    if (!inline_first) p.tokens.take();
    inline_first = false;
    value = make_expression(ExpressionKind::filter, p.tokens.current().place,
                            parts_of(std::move(value)));
    value->text = dotted_name(p);
    value->arguments = p.tokens.is_op("(") ? arguments(p) : std::make_unique<ArgumentList>();
    finish(p, *value, filters(), "filter");
  }
  return value;
}

}  // namespace rollcall::text::jinja
