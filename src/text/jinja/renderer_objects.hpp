// The objects that only statements make: macros and the variable `loop`.
#pragma once

#include "text/jinja/syntax/syntax.hpp"

#include <optional>

namespace rollcall::text::jinja {

struct Scope;

struct Macro : Object {
  Macro(Budget* budget, const Statement& s, Scope* where);
  const std::string& name() const { return statement.text; }  ///< empty for a tag `call`
  const Statement& statement;
  Scope* scope;  ///< where it was defined, which Scopes::keep() keeps until the end
};

/// The variable `loop`. It changes with each iteration, and is emptied when its loop ends.
struct Loop : Object {
  Loop(Budget* budget, Value over, std::shared_ptr<Iterator> items, int depth_before);
  Value iterable;
  std::shared_ptr<Iterator> source;  ///< the items that follow; null once the loop has ended
  std::int64_t index0 = -1;
  int depth0;
  std::optional<std::int64_t> length;
  std::optional<Value> after;            ///< the next item, if it has been looked at already
  Value before, current;                 ///< the previous item and the present one
  Value last_changed;                    ///< the arguments of the last call of changed()
  bool was_changed = false;              ///< whether changed() was called
  const Statement* recursive = nullptr;  ///< the statement, if the loop is recursive
  Scope* scope = nullptr;                ///< the scope around the loop
};

bool loop_advance(Context& context, Loop& loop);  ///< goes to the next item; false if there is none
std::int64_t loop_length(Context& context, Loop& loop);
/// An attribute such as `index` or `first`; nothing if there is no such attribute.
std::optional<Value> loop_attribute(Context& context, const Value& loop, std::string_view name);

}  // namespace rollcall::text::jinja
