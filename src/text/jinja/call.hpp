// Functions, filters, tests and methods are rows of tables with a name, a signature and a C++
// function. Arguments are bound to parameters as Python binds them.
#pragma once

#include "text/jinja/values/value.hpp"

#include <functional>
#include <span>

namespace rollcall::text::jinja {

/// The state that all functions of one rendering share.
struct Context {
  Budget budget;
  std::vector<Value> changing;  ///< objects that may end up holding themselves; emptied at the end
  bool clock_read = false;      ///< whether the template asked for the time
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// A call with its arguments bound to the row's parameters.
struct Call {
  Context& context;
  const Value& self;  ///< the value that is filtered or tested, or the method's object; for a plain
                      ///< function, the value `none`
  std::vector<Value> values;  ///< [parameter] its argument
  std::vector<bool> given;    ///< [parameter] whether there is an argument
  Arguments rest;             ///< the arguments that `*` and `**` took

  Budget& budget() { return context.budget; }
  bool has(std::size_t i) const { return given[i]; }
  const Value& operator[](std::size_t i) const { return values[i]; }
};

/// `signature` has the parameters' names with spaces between them. An argument whose name ends with
/// "!" is required. "/" at the beginning means that no argument may be passed by name. "*" or "**"
/// at the end means that more positional or named arguments may follow.
struct Row {
  std::string_view name, signature;
  Value (*apply)(Call&);
};

const Row* find_row(std::span<const Row> rows, std::string_view name);  ///< null if there is none
Value apply(const Row& row, Context& context, const Value& self, Arguments arguments);

/// A function that is used as a value: a global function, or a method with its object.
struct Function : Object {
  Function(Budget* budget, const Row& r, Value s);
  const Row& row;
  Value self;
};
Value function(Context& context, const Row& row, const Value& self);

std::span<const Row> filters();
std::span<const Row> tests();
std::span<const Row> functions();  ///< the global functions: range, dict, namespace, ...
/// Whether Jinja has a filter or function with that name that this interpreter lacks.
bool is_known_to_jinja(std::string_view filter_or_function);

// Arguments that must have a certain type. The functions throw for any other type; `what` names the
// argument in the message.
std::int64_t whole_argument(const Value& value);
const std::string& text_argument(const Value& value, const char* what);

/// Returns values one at a time, as Python's iterators do.
struct Iterator : Object {
  using Next = std::function<bool(Context&, Value&)>;
  Iterator(Budget* budget, int depth, Next n);
  Next next;  ///< sets the next value, or returns false if there is none; may change its own state
  bool advance(Context& context, Value& value);
};

/// A generator, as returned by filters such as map and select. `depth` is the depth of the deepest
/// value that it holds.
Value generator(Context& context, int depth, Iterator::Next next);
/// Throws for a value that is not iterable.
std::shared_ptr<Iterator> iterate(Context& context, const Value& value);
bool is_iterable(const Value& value);
std::vector<Value> collect(Context& context, const Value& value);
std::int64_t length(const Value& value);  ///< throws for a value without len()
bool has_length(const Value& value);

}  // namespace rollcall::text::jinja
