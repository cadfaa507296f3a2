// The syntax tree walked with values: one rendering.
#pragma once

#include "text/jinja/renderer_objects.hpp"

namespace rollcall::text::jinja {

/// Variables set in one frame: the template, a loop's iteration, a macro's call, a block.
struct Scope : std::enable_shared_from_this<Scope> {
  Scope* parent = nullptr;
  std::vector<std::pair<int, Value>> variables;
  bool kept = false;  ///< a macro was defined in it or below
};

class Renderer {
 public:
  Renderer(const Template& parsed, const Budget& budget);
  ~Renderer();
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  Context& context() { return context_; }
  void set(std::string_view name, const Value& value);  ///< a variable of the template, where it
                                                        ///< mentions the name
  bool mentions(std::string_view name) const;
  std::string run();  ///< throws Fault with the place

 private:
  enum class Flow { on, leave, next };
  class Frame;    // a scope of its own
  class Capture;  // output caught instead of written

  // Statements (renderer.cpp).
  void hide(Scope& scope, const std::vector<int>& symbols);
  Flow execute(const Block& block);
  Flow execute(const Statement& s);
  Flow condition(const Statement& s);
  Flow assign_body(const Statement& s);
  Flow filter_block(const Statement& s);
  Flow with(const Statement& s);
  Flow loop(const Statement& s, const Value& iterable, int depth0);
  std::shared_ptr<Iterator> filtered(const Statement& s, std::shared_ptr<Iterator> source);
  void call_block(const Statement& s);
  void assign(const Expression& target, const Value& value);
  void assign_namespace(const Expression& target, const Value& value);
  void write(std::string_view text);
  Value macro(const Statement& statement);  // or a call block
  Value call_macro(const Macro& macro, Arguments arguments);
  void bind(const Macro& macro, Arguments& arguments);
  Value parameter(const Macro& macro, std::size_t i, Arguments& arguments);
  Value recurse(const Value& loop, Arguments arguments);

  // Expressions (evaluation.cpp).
  Value evaluate(const Expression& e);
  Value name(const Expression& e);
  Value conditional(const Expression& e);
  Value compare_chain(const Expression& e);
  Value concat(const Expression& e);
  Value dictionary(const Expression& e);
  Value sliced(const Expression& e);
  Value call_expression(const Expression& e, const Value* caller);
  Value filtered_value(const Expression& e, const Value* body);
  Value tested(const Expression& e);
  std::vector<Value> evaluate_all(const std::vector<ExpressionPtr>& parts);
  Arguments arguments(const ArgumentList& list);
  Value call(const Value& callee, Arguments arguments);

  const Template& template_;
  Context context_;
  Scope* scope_ = nullptr;
  std::shared_ptr<Scope> root_;
  std::vector<std::shared_ptr<Scope>> kept_;
  std::string output_;
  std::string* out_ = &output_;
  Place at_{1, 1};
};

}  // namespace rollcall::text::jinja
