// Executes statements, which write output, set variables, and call macros.
#pragma once

#include "text/jinja/rendering.hpp"

#include <memory>
#include <string>

namespace rollcall::text::jinja {

/// The text of the whole template. Throws Fault with its place. Call it only once.
std::string render(Rendering& rendering);

/// Executes statements in a rendering. All functions throw Fault if Python or Jinja refuses an
/// operation, or if the budget runs out.
class Executor {
 public:
  /// How a block ended: at its end, at `break`, or at `continue`.
  enum class Flow { on, leave, next };

  explicit Executor(Rendering& rendering) : r_(rendering) {}

  Flow execute(const Block& block);
  Value call_macro(const Macro& macro, Arguments arguments);  ///< the macro's output
  /// loop(children) in a recursive loop. Its value is the output of the same loop over other items.
  Value recurse(const Value& loop, Arguments arguments);

 private:
  Value evaluate(const Expression& e);
  Flow execute(const Statement& s);
  Flow condition(const Statement& s);
  Flow assign_body(const Statement& s);
  Flow filter_block(const Statement& s);
  Flow with(const Statement& s);
  Flow loop(const Statement& s, const Value& iterable, int depth0);
  /// Items of `for x in source if test`. The test sees the target, and is evaluated only when the
  /// loop reaches the item.
  std::shared_ptr<Iterator> filtered(const Statement& s, std::shared_ptr<Iterator> source);
  void call_block(const Statement& s);
  void assign(const Expression& target, const Value& value);
  void assign_namespace(const Expression& target, const Value& value);
  Value macro(const Statement& statement);  // the macro of a tag `macro` or `call`
  void bind(const Macro& macro, Arguments& arguments);
  /// The value of the i-th parameter. A parameter with neither argument nor default is undefined.
  Value parameter(const Macro& macro, std::size_t i, Arguments& arguments);

  Rendering& r_;
};

}  // namespace rollcall::text::jinja
