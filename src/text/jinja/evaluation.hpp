// Evaluates expressions.
#pragma once

#include "text/jinja/rendering.hpp"

#include <vector>

namespace rollcall::text::jinja {

/// Evaluates expressions with the variables of a rendering. All functions throw Fault if Python or
/// Jinja refuses an operation, or if the budget runs out.
class Evaluator {
 public:
  explicit Evaluator(Rendering& rendering) : r_(rendering) {}

  Value evaluate(const Expression& e);
  Value name(const Expression& e);  ///< a variable, a function, or an undefined value
  /// A call. It gets `caller` as an additional argument unless that is null (the tag `call`).
  Value call_expression(const Expression& e, const Value* caller);
  /// Applies filters to a value, which is `body` if the expression itself has none (the tags
  /// `filter` and `set`).
  Value filtered_value(const Expression& e, const Value* body);

 private:
  Value conditional(const Expression& e);
  Value compare_chain(const Expression& e);
  Value concat(const Expression& e);
  Value dictionary(const Expression& e);
  Value sliced(const Expression& e);
  Value tested(const Expression& e);
  std::vector<Value> evaluate_all(const std::vector<ExpressionPtr>& parts);
  Arguments arguments(const ArgumentList& list);
  Value call(const Value& callee, Arguments arguments);

  Rendering& r_;
};

}  // namespace rollcall::text::jinja
