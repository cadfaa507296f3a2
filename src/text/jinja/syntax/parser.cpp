// The grammar of Jinja's tags and their bodies, as in Jinja's own parser.
#include "text/jinja/scoping.hpp"
#include "text/jinja/syntax/expressions.hpp"
#include "text/jinja/syntax/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rollcall::text::jinja {
namespace {

constexpr std::string_view kUnsupportedTags[] = {"include", "import",     "from",  "extends",
                                                 "block",   "autoescape", "trans", "pluralize",
                                                 "do",      "debug"};

/// Refuses an expression that nothing can be assigned to. `in_for`: within a tag `for`.
void check_target(const Expression& e, bool in_for) {
  if (e.kind == ExpressionKind::tuple) {
    for (const auto& part : e.parts) check_target(*part, in_for);
  } else if (e.kind == ExpressionKind::name && e.symbol == kLoopSymbol && in_for) {
    fail_at(e.place, "Can't assign to special loop variable in for-loop target");
  } else if (e.kind != ExpressionKind::name && e.kind != ExpressionKind::namespace_ref) {
    fail_at(e.place, "can't assign to an expression");
  }
}

class StatementParser {
 public:
  explicit StatementParser(std::string_view source) : state_{TokenCursor(tokens_of(source))} {}

  Template run();

 private:
  using Ends = std::initializer_list<std::string_view>;

  /// Statements up to a tag with one of the names in `ends`, which is then the current token, or to
  /// the template's end if there are no such names.
  Block block(Ends ends);
  /// The body of a tag, from the end of its opening tag to the name of its closing one.
  /// `own_frame`: variables that are set in it are not seen outside.
  Block tag_body(Ends ends, bool own_frame);
  /// A body that is a separate function: break and continue do not reach a loop around it. Notes in
  /// the signature which of the names caller, varargs and kwargs it uses.
  Block macro_body(std::string_view end, Signature& s);
  Statement statement();
  Statement for_statement();
  Statement if_statement();
  Statement set_statement();
  Statement macro_statement();
  Statement call_statement();
  Statement filter_statement();
  Statement with_statement();
  Statement generation_statement();
  Statement loop_control(StatementKind kind);
  void print_statement(Block& out);  // {% print a, b %}
  Signature signature();
  /// The target of a tag's assignment. `until_in`: it ends before the name "in".
  ExpressionPtr target(bool with_namespace, bool until_in);

  ParserState state_;
  TokenCursor& tokens_ = state_.tokens;
  int loops_ = 0;  // loops around this place that a break would end
  int fors_ = 0;   // tags `for` around this place, including those around a macro
};

Template StatementParser::run() {
  Template result;
  result.body = block({});
  state_.unknown.refuse_first();
  result.symbols = state_.symbols.names();
  settle_names(result);
  return result;
}

Block StatementParser::block(std::initializer_list<std::string_view> ends) {
  Block out;
  while (!tokens_.is(TokenKind::end)) {
    const Token token = tokens_.take();
    if (token.kind == TokenKind::data) {
      out.push_back({.kind = StatementKind::text, .place = token.place, .text = token.text});
    } else if (token.kind == TokenKind::variable_begin) {
      out.push_back({.kind = StatementKind::print,
                     .place = token.place,
                     .expression = parse_tuple(state_, true)});
      tokens_.expect(TokenKind::variable_end, "end of print statement");
    } else {
      if (std::any_of(ends.begin(), ends.end(), [&](auto name) { return tokens_.is_name(name); }))
        return out;
      if (tokens_.is_name("print")) print_statement(out);
      else out.push_back(statement());
      tokens_.expect(TokenKind::block_end, "end of statement block");
    }
  }
  if (ends.size() > 0)
    tokens_.fail(
        fmt::format("Unexpected end of template. Jinja was looking for the following tags: '{}'.",
                    fmt::join(ends, "' or '")));
  return out;
}

Block StatementParser::tag_body(std::initializer_list<std::string_view> ends, bool own_frame) {
  const std::size_t unknown = state_.unknown.count();
  tokens_.take_op(":");
  tokens_.expect(TokenKind::block_end, "end of statement block");
  Block out = block(ends);
  if (own_frame) state_.unknown.harden(unknown);
  return out;
}

Statement StatementParser::statement() {
  const NestingLevel level(state_);
  const Token tag = tokens_.current();
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

Statement StatementParser::for_statement() {
  Statement s{.kind = StatementKind::loop, .place = tokens_.take().place};
  ++fors_;
  s.target = target(false, true);
  tokens_.expect_name("in");
  s.expression = parse_tuple(state_, false, {"recursive"});
  const std::size_t unknown = state_.unknown.count();
  if (tokens_.take_name("if")) s.test = parse_expression(state_);
  state_.unknown.harden(unknown);
  s.recursive = tokens_.take_name("recursive");
  ++loops_;
  s.body = tag_body({"endfor", "else"}, true);
  --loops_;
  if (tokens_.take_name("else")) s.otherwise = tag_body({"endfor"}, true);
  tokens_.expect_name("endfor");
  --fors_;
  return s;
}

Statement StatementParser::if_statement() {
  Statement s{.kind = StatementKind::condition, .place = tokens_.take().place};
  const std::size_t unknown = state_.unknown.count();
  do {
    auto test = parse_tuple(state_, false);
    s.branches.push_back({std::move(test), tag_body({"elif", "else", "endif"}, false)});
  } while (tokens_.take_name("elif"));
  if (tokens_.take_name("else")) s.branches.push_back({nullptr, tag_body({"endif"}, false)});
  tokens_.expect_name("endif");
  state_.unknown.soften(unknown);
  return s;
}

Statement StatementParser::set_statement() {
  Statement s{.kind = StatementKind::assign, .place = tokens_.take().place};
  s.target = target(true, false);
  if (tokens_.take_op("=")) {
    s.expression = parse_tuple(state_, true);
    return s;
  }
  s.kind = StatementKind::assign_body;
  s.expression = parse_filters(state_, nullptr);
  s.body = tag_body({"endset"}, true);
  tokens_.expect_name("endset");
  return s;
}

ExpressionPtr StatementParser::target(bool with_namespace, bool until_in) {
  const Place place = tokens_.current().place;
  std::vector<ExpressionPtr> parts;
  bool is_tuple = false;
  while (true) {
    if (!parts.empty()) tokens_.expect_op(",");
    if (tokens_.is(TokenKind::block_end) || tokens_.is_op(")") ||
        (until_in && tokens_.is_name("in")))
      break;
    parts.push_back(parse_primary(state_, with_namespace));
    if (!tokens_.is_op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && parts.empty())
    tokens_.fail(fmt::format("Expected an expression, got '{}'", describe(tokens_.current())));
  auto e = is_tuple ? make_expression(ExpressionKind::tuple, place, std::move(parts))
                    : std::move(parts.front());
  check_target(*e, fors_ > 0);
  return e;
}

Signature StatementParser::signature() {
  Signature s;
  tokens_.expect_op("(");
  while (!tokens_.is_op(")")) {
    if (!s.names.empty()) tokens_.expect_op(",");
    const Place place = tokens_.current().place;
    const std::string name = tokens_.expect_any_name();
    if (std::find(s.names.begin(), s.names.end(), name) != s.names.end())
      fail_at(place, fmt::format("duplicate argument '{}'", name));
    s.names.push_back(name);
    s.symbols.push_back(state_.symbols.number(name));
    if (tokens_.take_op("=")) s.defaults.push_back(parse_expression(state_));
    else if (!s.defaults.empty()) tokens_.fail("non-default argument follows default argument");
    else if (name == "caller")
      fail_at(place, "the special \"caller\" argument must be omitted or be given a default");
  }
  tokens_.expect_op(")");
  return s;
}

Block StatementParser::macro_body(std::string_view end, Signature& s) {
  const int loops = std::exchange(loops_, 0);
  state_.macros.push_back(&s);
  Block body = tag_body({end}, true);
  state_.macros.pop_back();
  loops_ = loops;
  tokens_.expect_name(end);
  return body;
}

Statement StatementParser::macro_statement() {
  Statement s{.kind = StatementKind::macro, .place = tokens_.take().place};
  s.text = tokens_.expect_any_name();
  s.symbol = state_.symbols.number(s.text);
  s.signature = signature();
  s.body = macro_body("endmacro", s.signature);
  return s;
}

Statement StatementParser::call_statement() {
  Statement s{.kind = StatementKind::call, .place = tokens_.take().place};
  if (tokens_.is_op("(")) s.signature = signature();
  s.expression = parse_expression(state_);
  if (s.expression->kind != ExpressionKind::call) fail_at(s.place, "expected call");
  s.body = macro_body("endcall", s.signature);
  return s;
}

Statement StatementParser::filter_statement() {
  Statement s{.kind = StatementKind::filter, .place = tokens_.take().place};
  s.expression = parse_filters(state_, nullptr, true);
  s.body = tag_body({"endfilter"}, true);
  tokens_.expect_name("endfilter");
  return s;
}

Statement StatementParser::with_statement() {
  Statement s{.kind = StatementKind::with, .place = tokens_.take().place};
  while (!tokens_.is(TokenKind::block_end)) {
    if (!s.with.empty()) tokens_.expect_op(",");
    auto name = target(false, false);
    tokens_.expect_op("=");
    s.with.emplace_back(std::move(name), parse_expression(state_));
  }
  s.body = tag_body({"endwith"}, true);
  tokens_.expect_name("endwith");
  return s;
}

Statement StatementParser::generation_statement() {
  Statement s{.kind = StatementKind::scope, .place = tokens_.take().place};
  s.body = macro_body("endgeneration", s.signature);
  return s;
}

Statement StatementParser::loop_control(StatementKind kind) {
  const Token tag = tokens_.take();
  if (loops_ == 0) fail_at(tag.place, fmt::format("'{}' outside loop", tag.text));
  return {.kind = kind, .place = tag.place};
}

void StatementParser::print_statement(Block& out) {
  tokens_.take();
  for (bool first = true; !tokens_.is(TokenKind::block_end); first = false) {
    if (!first) tokens_.expect_op(",");
    const Place place = tokens_.current().place;
    out.push_back(
        {.kind = StatementKind::print, .place = place, .expression = parse_expression(state_)});
  }
}

}  // namespace

Template parse(std::string_view source) { return StatementParser(source).run(); }

}  // namespace rollcall::text::jinja
