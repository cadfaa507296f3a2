// Attributes, items and slices (a.b, a[b] and a[b:c]) by Jinja's rules and within its sandbox.
#pragma once

#include "text/jinja/call.hpp"

#include <optional>

namespace rollcall::text::jinja {

/// a.b, which is Python's attribute, else the item with that name, else undefined.
Value attribute(Context& context, const Value& object, const std::string& name);
/// a[b], which is the item, else Python's attribute with that name, else undefined.
Value item(Context& context, const Value& object, const Value& key);
Value slice(Context& context, const Value& object, const Value& start, const Value& stop,
            const Value& step);
/// Python's attribute only. Returns nothing if the object has no such attribute.
std::optional<Value> python_attribute(Context& context, const Value& object,
                                      const std::string& name);

std::span<const Row> text_methods();
std::span<const Row> container_methods(Kind kind);

}  // namespace rollcall::text::jinja
