// The grammar of Jinja's expressions, level by level from the loosest operator to the tightest.
#pragma once

#include "text/jinja/syntax/parser_state.hpp"

#include <initializer_list>
#include <string_view>

namespace rollcall::text::jinja {

// The functions below read from the current token on. They throw Fault if the template breaks the
// grammar, is nested too deeply, or uses something that is not supported.

/// `with_condition`: "a if b else c" is allowed.
ExpressionPtr parse_expression(ParserState& state, bool with_condition = true);

/// One expression, or several expressions separated by commas, which form a tuple. It may end
/// before one of the names in `ends`. `parentheses`: it is in parentheses, so that an empty tuple
/// is allowed.
ExpressionPtr parse_tuple(ParserState& state, bool with_condition,
                          std::initializer_list<std::string_view> ends = {},
                          bool parentheses = false);

}  // namespace rollcall::text::jinja
