// Tags and their bodies.
#include "text/jinja/nested.hpp"
#include "text/jinja/scoping.hpp"
#include "text/jinja/syntax/parser.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text::jinja {
namespace {

constexpr std::string_view kUnsupportedTags[] = {"include", "import",     "from",  "extends",
                                                 "block",   "autoescape", "trans", "pluralize",
                                                 "do",      "debug"};

}  // namespace

Template parse(std::string_view source) { return Parser(source).run(); }

Parser::Parser(std::string_view source) : tokens_(tokens_of(source)) {
  for (const char* name : {"loop", "caller", "varargs", "kwargs"}) symbol(name);
}

Template Parser::run() {
  Template result;
  result.body = block({});
  if (!unknown_.empty()) throw unknown_.front().fault;
  result.symbols.resize(symbols_.size());
  for (const auto& [name, number] : symbols_) result.symbols[std::size_t(number)] = name;
  settle_names(result);
  return result;
}

bool Parser::take_op(std::string_view op) {
  if (!is_op(op)) return false;
  take();
  return true;
}

bool Parser::take_name(std::string_view name) {
  if (!is_name(name)) return false;
  take();
  return true;
}

void Parser::expect_op(std::string_view op) {
  if (!take_op(op))
    fail_at(current().place, fmt::format("expected token '{}', got '{}'", op, describe(current())));
}

void Parser::expect_name(std::string_view name) {
  if (!take_name(name))
    fail_at(current().place,
            fmt::format("expected token '{}', got '{}'", name, describe(current())));
}

void Parser::expect(TokenKind kind, const char* what) {
  if (current().kind != kind)
    fail_at(current().place,
            fmt::format("expected token '{}', got '{}'", what, describe(current())));
  take();
}

std::string Parser::any_name() {
  if (current().kind != TokenKind::name)
    fail_at(current().place, fmt::format("expected token 'name', got '{}'", describe(current())));
  return take().text;
}

void Parser::fail_at(const Place& place, std::string problem) const {
  throw Fault{FaultKind::syntax, std::move(problem), place};
}

int Parser::symbol(const std::string& name) {
  return symbols_.try_emplace(name, int(symbols_.size())).first->second;
}

/// A condition around them: unknown filters and tests since `from` fail only when they are reached.
void Parser::soften(std::size_t from) {
  unknown_.erase(std::remove_if(unknown_.begin() + std::ptrdiff_t(from), unknown_.end(),
                                [](const Unknown& u) { return !u.hard; }),
                 unknown_.end());
}

void Parser::harden(std::size_t from) {
  for (std::size_t i = from; i < unknown_.size(); ++i) unknown_[i].hard = true;
}

Block Parser::block(std::initializer_list<std::string_view> ends) {
  Block out;
  while (current().kind != TokenKind::end) {
    const Token token = take();
    if (token.kind == TokenKind::data) {
      out.push_back({.kind = StatementKind::text, .place = token.place, .text = token.text});
    } else if (token.kind == TokenKind::variable_begin) {
      out.push_back(
          {.kind = StatementKind::print, .place = token.place, .expression = tuple(true)});
      expect(TokenKind::variable_end, "end of print statement");
    } else {
      if (std::any_of(ends.begin(), ends.end(), [&](auto name) { return is_name(name); }))
        return out;
      if (is_name("print")) print_statement(out);
      else out.push_back(statement());
      expect(TokenKind::block_end, "end of statement block");
    }
  }
  if (ends.size() > 0)
    fail_at(
        current().place,
        fmt::format("Unexpected end of template. Jinja was looking for the following tags: '{}'.",
                    fmt::join(ends, "' or '")));
  return out;
}

/// From behind the opening tag to the name of the closing one. `own_frame`: variables set in it
/// stay there.
Block Parser::tag_body(std::initializer_list<std::string_view> ends, bool own_frame) {
  const std::size_t unknown = unknown_.size();
  take_op(":");
  expect(TokenKind::block_end, "end of statement block");
  Block out = block(ends);
  if (own_frame) harden(unknown);
  return out;
}

Statement Parser::statement() {
  const Nested nested(*this);
  const Token tag = current();
  if (tag.kind != TokenKind::name) fail_at(tag.place, "tag name expected");
  if (tag.text == "for") return for_statement();
  if (tag.text == "if") return if_statement();
  if (tag.text == "set") return set_statement();
  if (tag.text == "macro") return macro_statement();
  if (tag.text == "call") return call_statement();
  if (tag.text == "filter") return filter_statement();
  if (tag.text == "with") return with_statement();
  if (tag.text == "generation") return generation_statement();
  if (tag.text == "break") return loop_control(StatementKind::leave);
  if (tag.text == "continue") return loop_control(StatementKind::next);
  if (std::find(std::begin(kUnsupportedTags), std::end(kUnsupportedTags), tag.text) !=
      std::end(kUnsupportedTags)) {
    throw Fault{FaultKind::unsupported, fmt::format("the tag '{}' is not supported", tag.text),
                tag.place};
  }
  fail_at(tag.place, fmt::format("Encountered unknown tag '{}'.", tag.text));
}

Statement Parser::for_statement() {
  Statement s{.kind = StatementKind::loop, .place = take().place};
  ++fors_;
  s.target = target(false, true);
  expect_name("in");
  s.expression = tuple(false, {"recursive"});
  const std::size_t unknown = unknown_.size();
  if (take_name("if")) s.test = expression();
  harden(unknown);
  s.recursive = take_name("recursive");
  ++loops_;
  s.body = tag_body({"endfor", "else"}, true);
  --loops_;
  if (take_name("else")) s.otherwise = tag_body({"endfor"}, true);
  expect_name("endfor");
  --fors_;
  return s;
}

Statement Parser::if_statement() {
  Statement s{.kind = StatementKind::condition, .place = take().place};
  const std::size_t unknown = unknown_.size();
  do {
    auto test = tuple(false);
    s.branches.push_back({std::move(test), tag_body({"elif", "else", "endif"}, false)});
  } while (take_name("elif"));
  if (take_name("else")) s.branches.push_back({nullptr, tag_body({"endif"}, false)});
  expect_name("endif");
  soften(unknown);
  return s;
}

Statement Parser::set_statement() {
  Statement s{.kind = StatementKind::assign, .place = take().place};
  s.target = target(true, false);
  if (take_op("=")) {
    s.expression = tuple(true);
    return s;
  }
  s.kind = StatementKind::assign_body;
  s.expression = filter(nullptr);
  s.body = tag_body({"endset"}, true);
  expect_name("endset");
  return s;
}

ExpressionPtr Parser::target(bool with_namespace, bool until_in) {
  const Place place = current().place;
  std::vector<ExpressionPtr> parts;
  bool is_tuple = false;
  while (true) {
    if (!parts.empty()) expect_op(",");
    if (current().kind == TokenKind::block_end || is_op(")") || (until_in && is_name("in"))) break;
    parts.push_back(primary(with_namespace));
    if (!is_op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && parts.empty())
    fail_at(current().place, fmt::format("Expected an expression, got '{}'", describe(current())));
  auto e =
      is_tuple ? make(ExpressionKind::tuple, place, std::move(parts)) : std::move(parts.front());
  check_target(*e);
  return e;
}

void Parser::check_target(const Expression& e) const {
  if (e.kind == ExpressionKind::tuple) {
    for (const auto& part : e.parts) check_target(*part);
  } else if (e.kind == ExpressionKind::name && e.symbol == kLoopSymbol && fors_ > 0) {
    fail_at(e.place, "Can't assign to special loop variable in for-loop target");
  } else if (e.kind != ExpressionKind::name && e.kind != ExpressionKind::namespace_ref) {
    fail_at(e.place, "can't assign to an expression");
  }
}

Signature Parser::signature() {
  Signature s;
  expect_op("(");
  while (!is_op(")")) {
    if (!s.names.empty()) expect_op(",");
    const Place place = current().place;
    const std::string name = any_name();
    if (std::find(s.names.begin(), s.names.end(), name) != s.names.end())
      fail_at(place, fmt::format("duplicate argument '{}'", name));
    s.names.push_back(name);
    s.symbols.push_back(symbol(name));
    if (take_op("=")) s.defaults.push_back(expression());
    else if (!s.defaults.empty())
      fail_at(current().place, "non-default argument follows default argument");
    else if (name == "caller")
      fail_at(place, "the special \"caller\" argument must be omitted or be given a default");
  }
  expect_op(")");
  return s;
}

/// A body that is a function of its own: no break of an outer loop reaches into it, and it says
/// what it uses.
Block Parser::macro_body(std::string_view end, Signature& s) {
  const int loops = std::exchange(loops_, 0);
  macros_.push_back(&s);
  Block body = tag_body({end}, true);
  macros_.pop_back();
  loops_ = loops;
  expect_name(end);
  return body;
}

Statement Parser::macro_statement() {
  Statement s{.kind = StatementKind::macro, .place = take().place};
  s.text = any_name();
  s.symbol = symbol(s.text);
  s.signature = signature();
  s.body = macro_body("endmacro", s.signature);
  return s;
}

Statement Parser::call_statement() {
  Statement s{.kind = StatementKind::call, .place = take().place};
  if (is_op("(")) s.signature = signature();
  s.expression = expression();
  if (s.expression->kind != ExpressionKind::call) fail_at(s.place, "expected call");
  s.body = macro_body("endcall", s.signature);
  return s;
}

Statement Parser::filter_statement() {
  Statement s{.kind = StatementKind::filter, .place = take().place};
  s.expression = filter(nullptr, true);
  s.body = tag_body({"endfilter"}, true);
  expect_name("endfilter");
  return s;
}

Statement Parser::with_statement() {
  Statement s{.kind = StatementKind::with, .place = take().place};
  while (current().kind != TokenKind::block_end) {
    if (!s.with.empty()) expect_op(",");
    auto name = target(false, false);
    expect_op("=");
    s.with.emplace_back(std::move(name), expression());
  }
  s.body = tag_body({"endwith"}, true);
  expect_name("endwith");
  return s;
}

Statement Parser::generation_statement() {
  Statement s{.kind = StatementKind::scope, .place = take().place};
  s.body = macro_body("endgeneration", s.signature);
  return s;
}

Statement Parser::loop_control(StatementKind kind) {
  const Token tag = take();
  if (loops_ == 0) fail_at(tag.place, fmt::format("'{}' outside loop", tag.text));
  return {.kind = kind, .place = tag.place};
}

/// {% print a, b %}
void Parser::print_statement(Block& out) {
  take();
  for (bool first = true; current().kind != TokenKind::block_end; first = false) {
    if (!first) expect_op(",");
    const Place place = current().place;
    out.push_back({.kind = StatementKind::print, .place = place, .expression = expression()});
  }
}

}  // namespace rollcall::text::jinja
