// The grammar of operands: names, literals, brackets, calls, attributes, filters and tests.
#pragma once

#include "text/jinja/syntax/parser_state.hpp"

namespace rollcall::text::jinja {

// The functions below read from the current token on, and throw Fault like those in
// expressions.hpp.

/// A name, a literal, or an expression in brackets. `with_namespace`: the name of a namespace and
/// an attribute, "ns.a", is read as one target.
ExpressionPtr parse_primary(ParserState& state, bool with_namespace = false);

/// The attributes, items and calls after an expression.
ExpressionPtr parse_postfix(ParserState& state, ExpressionPtr e);

/// The filters, tests and calls after an expression.
ExpressionPtr parse_filters_and_tests(ParserState& state, ExpressionPtr e);

/// The filters after `value`, which is null if they filter the body of a block.
/// `inline_first`: the first one comes without "|", as in {% filter upper %}.
ExpressionPtr parse_filters(ParserState& state, ExpressionPtr value, bool inline_first = false);

}  // namespace rollcall::text::jinja
