// Functions, filters, tests and methods are rows of tables: a name, a signature, a function.
// Arguments are bound as Python binds them.
#pragma once

#include "text/jinja/values/value.hpp"

#include <functional>
#include <span>

namespace rollcall::text::jinja {

/// What one rendering shares: its budget, the objects that may come to hold themselves, which are
/// emptied at its end, and whether it asked for the time.
struct Context {
  Budget budget;
  std::vector<Value> changing;
  bool clock_read = false;
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// A call with its arguments bound to the row's parameters.
struct Call {
  Context& context;
  const Value& self;  ///< the filtered or tested value, the method's object; of a plain function:
                      ///< none
  std::vector<Value> values;  ///< one a parameter
  std::vector<bool> given;
  Arguments rest;  ///< what `*` and `**` took

  Budget& budget() { return context.budget; }
  bool has(std::size_t i) const { return given[i]; }
  const Value& operator[](std::size_t i) const { return values[i]; }
};

/// `signature`: names apart by spaces, `!` behind those that must be given; first `/` where none
/// may be given by name; last `*` or `**` where more may follow.
struct Row {
  std::string_view name, signature;
  Value (*apply)(Call&);
};

const Row* find_row(std::span<const Row> rows, std::string_view name);  ///< null: none
Value apply(const Row& row, Context& context, const Value& self, Arguments arguments);

/// A function as a value: a global, or a method with its object.
struct Function : Object {
  Function(Budget* budget, const Row& r, Value s);
  const Row& row;
  Value self;
};
Value function(Context& context, const Row& row, const Value& self);

std::span<const Row> filters();
std::span<const Row> tests();
std::span<const Row> functions();  ///< the globals: range, dict, namespace, ...
bool is_known_to_jinja(std::string_view filter_or_function);  ///< one that is left out here

// Arguments that must be of a type; `what` names them in the message.
std::int64_t whole_argument(const Value& value);
const std::string& text_argument(const Value& value, const char* what);

/// Python's iterator protocol.
struct Iterator : Object {
  using Next = std::function<bool(Context&, Value&)>;
  Iterator(Budget* budget, int depth, Next n);
  Next next;  ///< false: no more. May change what it holds
  bool advance(Context& context, Value& value);
};

/// A generator: what filters such as map and select give. `depth` is that of the deepest value it
/// holds.
Value generator(Context& context, int depth, Iterator::Next next);
/// throws: is not iterable
std::shared_ptr<Iterator> iterate(Context& context, const Value& value);
bool is_iterable(const Value& value);
std::vector<Value> collect(Context& context, const Value& value);
std::int64_t length(const Value& value);  ///< throws: has no len()
bool has_length(const Value& value);

}  // namespace rollcall::text::jinja
