// The variable `loop`, which knows the number of its iteration and the items before and after.
#include "text/jinja/renderer_objects.hpp"
#include "text/jinja/values/operators.hpp"

#include <algorithm>

namespace rollcall::text::jinja {
namespace {

const std::optional<Value>& peek(Context& context, Loop& loop) {
  if (loop.after) return loop.after;
  if (!loop.source) fail_unsupported("a loop variable after its loop has ended");
  Value next;
  if (loop.source->advance(context, next)) {
    loop.depth = std::max(loop.depth, 1 + depth_of(next));
    loop.after = std::move(next);
  }
  return loop.after;
}

Value cycle(Call& call) {
  const auto& items = call.rest.positional;
  if (items.empty()) fail("no items for cycling given");
  return items[std::size_t(call.self.as<Loop>().index0) % items.size()];
}

Value changed(Call& call) {
  auto& loop = call.self.as<Loop>();
  Value now = tuple(call.budget(), std::move(call.rest.positional));
  if (loop.was_changed && equal(call.context, loop.last_changed, now)) return boolean(false);
  if (!loop.was_changed) call.context.changing.push_back(call.self);
  loop.was_changed = true;
  loop.last_changed = std::move(now);
  return boolean(true);
}

constexpr Row kMethods[] = {{"changed", "*", changed}, {"cycle", "*", cycle}};

}  // namespace

Macro::Macro(Budget* b, const Statement& s, Scope* where)
    : Object(b, 0), statement(s), scope(where) {}

Loop::Loop(Budget* b, Value over, std::shared_ptr<Iterator> items, int depth_before)
    : Object(b, sizeof(Loop), 1 + std::max(depth_of(over), items->depth)),
      iterable(std::move(over)),
      source(std::move(items)),
      depth0(depth_before) {}

bool loop_advance(Context& context, Loop& loop) {
  if (!peek(context, loop)) return false;
  ++loop.index0;
  loop.before = std::move(loop.current);
  loop.current = std::move(*loop.after);
  loop.after.reset();
  return true;
}

std::int64_t loop_length(Context& context, Loop& loop) {
  if (loop.length) return *loop.length;
  if (has_length(loop.iterable)) return *(loop.length = length(loop.iterable));
  if (!loop.source) fail_unsupported("a loop variable after its loop has ended");
  std::vector<Value> rest;
  for (Value item; loop.source->advance(context, item);) {
    context.budget.check(std::int64_t(rest.size() * sizeof(Value)));
    rest.push_back(std::move(item));
  }
  loop.length = std::int64_t(rest.size()) + loop.index0 + 1 + (loop.after ? 1 : 0);
  loop.source = iterate(context, list(context.budget, std::move(rest)));
  return *loop.length;
}

std::optional<Value> loop_attribute(Context& context, const Value& value, std::string_view name) {
  auto& loop = value.as<Loop>();
  if (name == "index") return integer(loop.index0 + 1);
  if (name == "index0") return integer(loop.index0);
  if (name == "first") return boolean(loop.index0 == 0);
  if (name == "last") return boolean(!peek(context, loop));
  if (name == "length") return integer(loop_length(context, loop));
  if (name == "revindex") return integer(loop_length(context, loop) - loop.index0);
  if (name == "revindex0") return integer(loop_length(context, loop) - loop.index0 - 1);
  if (name == "depth") return integer(loop.depth0 + 1);
  if (name == "depth0") return integer(loop.depth0);
  if (name == "previtem")
    return loop.index0 == 0 ? undefined(context.budget, "there is no previous item") : loop.before;
  if (name == "nextitem")
    return peek(context, loop) ? *loop.after : undefined(context.budget, "there is no next item");
  if (const Row* row = find_row(kMethods, name)) return function(context, *row, value);
  return std::nullopt;
}

}  // namespace rollcall::text::jinja
