// Python's operators on values.
#pragma once

#include "text/jinja/syntax/syntax.hpp"

namespace rollcall::text::jinja {

Value binary(Context& context, Operator op, const Value& a, const Value& b);  ///< arithmetic
Value negative(const Value& a);
Value positive(const Value& a);

bool equal(Context& context, const Value& a, const Value& b);
bool contains(Context& context, const Value& container, const Value& item);
bool compare(Context& context, Operator op, const Value& a,
             const Value& b);  ///< the operators from `==` to `not in`

std::int64_t to_whole(double value);  ///< rounded towards zero; throws beyond 64 bits
std::string percent_format(Context& context, const Value& format, const Value& arguments);
std::string brace_format(Context& context, std::string_view format, const Arguments& arguments);

}  // namespace rollcall::text::jinja
