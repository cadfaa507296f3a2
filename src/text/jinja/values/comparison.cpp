// Equality, order and membership.
#include "text/jinja/values/operators.hpp"
#include "text/jinja/values/split.hpp"

#include <fmt/format.h>

#include <cmath>

namespace rollcall::text::jinja {
namespace {

/// -1, 0 or 1 for the order of two numbers, and 2 if a NaN makes them incomparable. It is exact for
/// integers that a double cannot hold, because long double has at least 64 bits on all supported
/// processors.
int number_order(const Value& a, const Value& b) {
  if (a.is_whole() && b.is_whole()) return a.whole() < b.whole() ? -1 : a.whole() > b.whole();
  const auto wide = [](const Value& v) {
    return v.is(Kind::real) ? static_cast<long double>(v.real)
                            : static_cast<long double>(v.whole());
  };
  const long double x = wide(a), y = wide(b);
  return std::isnan(x) || std::isnan(y) ? 2 : x < y ? -1 : x > y;
}

/// Equality of items in containers. There Python checks for identity first, so that a NaN equals
/// itself. Numbers are copied here, so that every NaN is treated as the same one.
bool same_item(Context& context, const Value& a, const Value& b) {
  if (a.is(Kind::real) && b.is(Kind::real) && std::isnan(a.real) && std::isnan(b.real)) return true;
  return equal(context, a, b);
}

bool equal_items(Context& context, const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_item(context, a[i], b[i])) return false;
  }
  return true;
}

bool equal_dicts(Context& context, const Dict& a, const Dict& b) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    const Value* other = b.find(key);
    if (!other || !same_item(context, value, *other)) return false;
  }
  return true;
}

bool equal_ranges(const Range& a, const Range& b) {
  return a.length == b.length &&
         (a.length == 0 || (a.start == b.start && (a.length == 1 || a.step == b.step)));
}

[[noreturn]] void fail_order(Operator op, const Value& a, const Value& b) {
  const char* symbol = op == Operator::less         ? "<"
                       : op == Operator::less_equal ? "<="
                       : op == Operator::greater    ? ">"
                                                    : ">=";
  fail(fmt::format("'{}' not supported between instances of '{}' and '{}'", symbol, type_name(a),
                   type_name(b)));
}

bool holds(Operator op, int order) {
  if (order == 2) return false;
  switch (op) {
    case Operator::less: return order < 0;
    case Operator::less_equal: return order <= 0;
    case Operator::greater: return order > 0;
    default: return order >= 0;
  }
}

bool ordered(Context& context, Operator op, const Value& a, const Value& b) {
  const Deeper deeper(context.budget);
  for (const Value* v : {&a, &b}) {
    if (v->is(Kind::undefined)) fail(v->as<Undefined>().message);
  }
  if (a.is_number() && b.is_number()) return holds(op, number_order(a, b));
  if (a.is(Kind::string) && b.is(Kind::string)) {
    context.budget.work(std::int64_t(std::min(a.text().size(), b.text().size())));
    const int order = a.text().compare(b.text());  // bytes of UTF-8 have the order of code points
    return holds(op, order < 0 ? -1 : order > 0);
  }
  if (a.kind != b.kind || (!a.is(Kind::list) && !a.is(Kind::tuple))) {
    if (a.is(Kind::view) && b.is(Kind::view)) fail_unsupported("comparing views of dictionaries");
    fail_order(op, a, b);
  }
  const auto &x = a.items(), &y = b.items();
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
    if (!same_item(context, x[i], y[i])) return ordered(context, op, x[i], y[i]);
  }
  return holds(op, x.size() < y.size() ? -1 : x.size() > y.size());
}

bool contains_text(Context& context, const Value& container, const Value& item) {
  if (!item.is(Kind::string))
    fail(fmt::format("'in <string>' requires string as left operand, not {}", type_name(item)));
  return find_text(context.budget, container.text(), item.text()) != std::string_view::npos;
}

}  // namespace

bool equal(Context& context, const Value& a, const Value& b) {
  const Deeper deeper(context.budget);
  context.budget.step();
  if (a.is_number() && b.is_number()) return number_order(a, b) == 0;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::undefined:
    case Kind::none: return true;
    case Kind::string:
      context.budget.work(std::int64_t(a.text().size()));
      return a.text() == b.text();
    case Kind::list:
    case Kind::tuple: return equal_items(context, a.items(), b.items());
    case Kind::dict: return equal_dicts(context, a.dict(), b.dict());
    case Kind::range: return equal_ranges(a.range(), b.range());
    case Kind::view:
      if (a.object == b.object) return true;
      if (a.as<View>().what == ViewOf::values || b.as<View>().what == ViewOf::values) return false;
      fail_unsupported("comparing views of dictionaries");
    case Kind::function:
      return a.object == b.object || (&a.as<Function>().row == &b.as<Function>().row &&
                                      a.as<Function>().self.object == b.as<Function>().self.object);
    default: return a.object == b.object;
  }
}

bool contains(Context& context, const Value& container, const Value& item) {
  context.budget.step();
  if (container.is(Kind::string)) return contains_text(context, container, item);
  if (container.is(Kind::dict)) return container.dict().find(item) != nullptr;
  if (container.is(Kind::view) && container.as<View>().what == ViewOf::keys)
    return container.as<View>().dict.dict().find(item) != nullptr;
  if (container.is(Kind::list) || container.is(Kind::tuple)) {
    for (const auto& other : container.items()) {
      if (same_item(context, other, item)) return true;
    }
    return false;
  }
  if (!is_iterable(container))
    fail(fmt::format("argument of type '{}' is not iterable", type_name(container)));
  const auto iterator = iterate(context, container);
  for (Value other; iterator->advance(context, other);) {
    if (same_item(context, other, item)) return true;
  }
  return false;
}

bool compare(Context& context, Operator op, const Value& a, const Value& b) {
  switch (op) {
    case Operator::equal: return equal(context, a, b);
    case Operator::not_equal: return !equal(context, a, b);
    case Operator::in: return contains(context, b, a);
    case Operator::not_in: return !contains(context, b, a);
    default: return ordered(context, op, a, b);
  }
}

}  // namespace rollcall::text::jinja
