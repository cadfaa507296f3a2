// The parts of the table of filters, and what several of them share.
#pragma once

#include "text/jinja/call.hpp"

namespace rollcall::text::jinja {

std::span<const Row> text_filters();
std::span<const Row> number_filters();
std::span<const Row> sequence_filters();
std::span<const Row> lazy_filters();

/// Python's str(value) that leaves a string marked safe as it is.
Value soft_text(Call& call, const Value& value);
/// "a.b.0" of an item, by Jinja's item access; `fallback` (may be null) stands for what is
/// undefined on the way.
Value attribute_path(Context& context, Value item, const Value& path,
                     const Value* fallback = nullptr);
/// Strings in lower case, other values as they are.
Value ignore_case(Context& context, const Value& value);
/// by the first of each pair, stable
void sort_values(Context& context, std::vector<std::pair<Value, Value>>& keyed, bool reverse);

}  // namespace rollcall::text::jinja
