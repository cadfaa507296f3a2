// Bounds of the parser's recursion.
#pragma once

#include "text/jinja/syntax/parser.hpp"

namespace rollcall::text::jinja {

/// Levels of parser functions inside themselves; two or three a pair of brackets, so that more than
/// the 70 pairs fit at which Jinja's own parser stops.
constexpr int kNesting = 250;
/// A chain such as a + b + c is a tree as high as it is long; Python's compiler stops at some
/// hundreds too.
constexpr int kTreeHeight = 600;

struct Parser::Nested {
  explicit Nested(Parser& p) : parser(p) {
    if (++parser.nesting_ > kNesting)
      throw Fault{FaultKind::limit, "the template is nested too deeply", parser.current().place};
  }
  ~Nested() { --parser.nesting_; }
  Parser& parser;
};

}  // namespace rollcall::text::jinja
