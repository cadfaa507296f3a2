// What only the renderer makes: macros and the variable loop.
#pragma once

#include "text/jinja/syntax/syntax.hpp"

#include <optional>

namespace rollcall::text::jinja {

struct Scope;

struct Macro : Object {
  Macro(Budget* budget, const Statement& s, Scope* where);
  const std::string& name() const { return statement.text; }  ///< empty: a call block's
  const Statement& statement;
  Scope* scope;  ///< where it was defined; the renderer keeps it
};

/// The variable `loop`. Changes; when its loop ends, it is emptied.
struct Loop : Object {
  Loop(Budget* budget, Value over, std::shared_ptr<Iterator> items, int depth_before);
  Value iterable;
  std::shared_ptr<Iterator> source;  ///< null: the loop has ended
  std::int64_t index0 = -1;
  int depth0;
  std::optional<std::int64_t> length;
  std::optional<Value> after;
  Value before, current, last_changed;
  bool was_changed = false;
  const Statement* recursive = nullptr;  ///< the statement to call again
  Scope* scope = nullptr;
};

bool loop_advance(Context& context, Loop& loop);  ///< to the next item; false: none
std::int64_t loop_length(Context& context, Loop& loop);
/// index, first, ...; none: no such attribute
std::optional<Value> loop_attribute(Context& context, const Value& loop, std::string_view name);

}  // namespace rollcall::text::jinja
