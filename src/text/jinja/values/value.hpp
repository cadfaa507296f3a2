// The values in a template: the Python values that templates use. Copies are cheap, because large
// values are shared. Values do not change, except for the few types that say so.
#pragma once

#include "text/jinja/budget.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rollcall::text::jinja {

enum class Kind : std::uint8_t {
  undefined,
  none,
  boolean,
  integer,
  real,
  string,
  list,
  tuple,
  dict,
  range,
  view,
  iterator,
  name_space,
  function,
  macro,
  loop,
  cycler,
  joiner
};

/// A shared value, whose bytes are taken from the budget while it lives. Its depth is one more than
/// that of any value inside.
struct Object {
  /// `budget` is null for a constant of the template.
  Object(Budget* budget, std::int64_t bytes, int depth = 1);
  virtual ~Object();
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  Budget* budget;
  std::int64_t bytes;
  int depth;
};

struct Text;
struct Items;
struct Dict;
struct Range;

struct Value {
  Kind kind = Kind::none;
  bool safe = false;  ///< a string that is marked safe (Markup); strings joined to it are escaped
  union {
    bool boolean;
    std::int64_t integer = 0;
    double real;
  };
  std::shared_ptr<Object> object;

  const std::string& text() const;          ///< for a string
  const std::vector<Value>& items() const;  ///< for a list or tuple
  const Dict& dict() const;
  const Range& range() const;
  template <class T>
  T& as() const {
    return static_cast<T&>(*object);
  }

  bool is(Kind k) const { return kind == k; }
  bool is_number() const { return is(Kind::boolean) || is(Kind::integer) || is(Kind::real); }
  /// Python's int, to which bool belongs.
  bool is_whole() const { return is(Kind::boolean) || is(Kind::integer); }
  std::int64_t whole() const { return is(Kind::boolean) ? std::int64_t(boolean) : integer; }
};

struct Text : Object {
  Text(Budget* budget, std::string s);
  std::string text;
  std::size_t length;  ///< in characters
  bool is_ascii() const { return length == text.size(); }
};

struct Items : Object {  ///< a list or tuple
  Items(Budget* budget, std::vector<Value> v, bool group = false);
  std::vector<Value> items;
  bool group;  ///< whether it is a tuple of the filter groupby, whose fields have names
};

struct Dict : Object {
  explicit Dict(Budget* budget);
  const Value* find(const Value& key) const;  ///< throws if the key cannot be hashed
  const Value* find(std::string_view key) const;
  void set(Value key, Value value);  ///< only while it is built, and for a namespace's attributes
  std::vector<std::pair<Value, Value>> items;

 private:
  std::unordered_map<std::string, std::size_t> index_;  // places in items by hash_key()
};

struct Range : Object {
  Range(Budget* budget, std::int64_t start, std::int64_t stop, std::int64_t step);
  std::int64_t start, stop, step, length;
  std::int64_t at(std::int64_t i) const {
    return std::int64_t(std::uint64_t(start) + std::uint64_t(i) * std::uint64_t(step));
  }
};

enum class ViewOf { keys, values, items };
/// The result of dict.keys(), dict.values() or dict.items().
struct View : Object {
  View(Budget* budget, Value dict, ViewOf what);
  Value dict;
  ViewOf what;
};

/// What Jinja returns for a variable or attribute that is missing, or that the sandbox hides. The
/// value's `object` is null if there is no message.
struct Undefined : Object {
  Undefined(Budget* budget, std::string m);
  std::string message;
};

/// Jinja's namespace. A template may set its attributes, even to the namespace itself, so it is
/// emptied when the rendering ends.
struct Namespace : Object {
  explicit Namespace(Budget* budget);
  Dict attributes;
};

struct Cycler : Object {
  Cycler(Budget* budget, std::vector<Value> v);
  std::vector<Value> items;
  std::size_t position = 0;  ///< position of the next item; changes while the template runs
};

struct Joiner : Object {
  Joiner(Budget* budget, Value s);
  Value separator;
  bool used = false;  ///< whether it was called already; changes while the template runs
};

inline Value none() { return {}; }
Value boolean(bool b);
Value integer(std::int64_t i);
Value real(double d);
Value string(Budget& budget, std::string s, bool safe = false);
Value list(Budget& budget, std::vector<Value> items);
Value tuple(Budget& budget, std::vector<Value> items, bool group = false);
Value undefined(Budget& budget, std::string message);
Value range(Budget& budget, std::int64_t start, std::int64_t stop, std::int64_t step);
Value dict(std::shared_ptr<Dict> d);

/// A value's depth, which is 0 if it has no object.
inline int depth_of(const Value& value) { return value.object ? value.object->depth : 0; }

/// A key that is the same for values that are equal and have the same hash in Python. Throws for
/// values that cannot be hashed.
std::string hash_key(const Value& value);

/// Python's name of the type, such as "str" or "NoneType".
const char* type_name(const Value& value);
/// What Jinja's messages call the value, such as "str object" or "None".
std::string object_name(const Value& value);

bool is_true(Budget& budget, const Value& value);

}  // namespace rollcall::text::jinja
