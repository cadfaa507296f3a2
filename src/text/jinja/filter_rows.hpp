// The parts of the table of filters, and functions that several filters use.
#pragma once

#include "text/jinja/call.hpp"

namespace rollcall::text::jinja {

std::span<const Row> text_filters();
std::span<const Row> number_filters();
std::span<const Row> sequence_filters();
std::span<const Row> lazy_filters();

/// Python's str(value), except that a string that is marked safe stays as it is.
Value soft_text(Call& call, const Value& value);
/// The value at a path such as "a.b.0" within an item, using Jinja's item access. `fallback`,
/// unless it is null, replaces an undefined value on the way.
Value attribute_path(Context& context, Value item, const Value& path,
                     const Value* fallback = nullptr);
/// A string in lower case, or any other value unchanged.
Value ignore_case(Context& context, const Value& value);
/// Sorts pairs by their first values. Pairs with equal first values keep their order.
void sort_values(Context& context, std::vector<std::pair<Value, Value>>& keyed, bool reverse);

}  // namespace rollcall::text::jinja
