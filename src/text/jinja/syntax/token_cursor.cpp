// The messages about a missing token, in Jinja's words.
#include "text/jinja/syntax/token_cursor.hpp"

#include <fmt/format.h>

namespace rollcall::text::jinja {

bool TokenCursor::take_op(std::string_view op) {
  if (!is_op(op)) return false;
  take();
  return true;
}

bool TokenCursor::take_name(std::string_view name) {
  if (!is_name(name)) return false;
  take();
  return true;
}

void TokenCursor::expect_op(std::string_view op) {
  if (!take_op(op)) fail_expected(op);
}

void TokenCursor::expect_name(std::string_view name) {
  if (!take_name(name)) fail_expected(name);
}

void TokenCursor::expect(TokenKind kind, std::string_view what) {
  if (!is(kind)) fail_expected(what);
  take();
}

std::string TokenCursor::expect_any_name() {
  if (!is(TokenKind::name)) fail_expected("name");
  return take().text;
}

void TokenCursor::fail(std::string problem) const { fail_at(current().place, std::move(problem)); }

void TokenCursor::fail_expected(std::string_view what) const {
  fail(fmt::format("expected token '{}', got '{}'", what, describe(current())));
}

}  // namespace rollcall::text::jinja
