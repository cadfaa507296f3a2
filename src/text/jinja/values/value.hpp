// Values of a template: Python's, as far as templates meet them. Copies are cheap: what is large is
// shared and never changes, but for the few that say so.
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

/// What is shared and counted. `depth` is one more than that of anything inside.
struct Object {
  /// no budget: a constant of the template
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
  bool safe = false;  ///< a string marked safe (Markup): joined with others, those are escaped
  union {
    bool boolean;
    std::int64_t integer = 0;
    double real;
  };
  std::shared_ptr<Object> object;

  const std::string& text() const;          ///< of a string
  const std::vector<Value>& items() const;  ///< of a list or tuple
  const Dict& dict() const;
  const Range& range() const;
  template <class T>
  T& as() const {
    return static_cast<T&>(*object);
  }

  bool is(Kind k) const { return kind == k; }
  bool is_number() const { return is(Kind::boolean) || is(Kind::integer) || is(Kind::real); }
  /// Python's int, which bool is too
  bool is_whole() const { return is(Kind::boolean) || is(Kind::integer); }
  std::int64_t whole() const { return is(Kind::boolean) ? std::int64_t(boolean) : integer; }
};

struct Text : Object {
  Text(Budget* budget, std::string s);
  std::string text;
  std::size_t length;  ///< in characters
  bool is_ascii() const { return length == text.size(); }
};

struct Items : Object {  ///< list or tuple
  Items(Budget* budget, std::vector<Value> v, bool group = false);
  std::vector<Value> items;
  bool group;  ///< a tuple of the filter groupby, whose fields have names
};

struct Dict : Object {
  explicit Dict(Budget* budget);
  const Value* find(const Value& key) const;  ///< throws where the key cannot be hashed
  const Value* find(std::string_view key) const;
  void set(Value key, Value value);  ///< only while it is built, and for a namespace's attributes
  std::vector<std::pair<Value, Value>> items;

 private:
  std::unordered_map<std::string, std::size_t> index_;  ///< by `hash_key`
};

struct Range : Object {
  Range(Budget* budget, std::int64_t start, std::int64_t stop, std::int64_t step);
  std::int64_t start, stop, step, length;
  std::int64_t at(std::int64_t i) const {
    return std::int64_t(std::uint64_t(start) + std::uint64_t(i) * std::uint64_t(step));
  }
};

enum class ViewOf { keys, values, items };
struct View : Object {  ///< dict.keys() and its sisters
  View(Budget* budget, Value dict, ViewOf what);
  Value dict;
  ViewOf what;
};

/// What Jinja gives for a missing variable or attribute; `security`: for one that the sandbox
/// hides. The value's `object` may be null: no message.
struct Undefined : Object {
  Undefined(Budget* budget, std::string m);
  std::string message;
};

struct Namespace : Object {  ///< its attributes change; the renderer empties it at the end, because
                             ///< it may hold itself
  explicit Namespace(Budget* budget);
  Dict attributes;
};

struct Cycler : Object {
  Cycler(Budget* budget, std::vector<Value> v);
  std::vector<Value> items;
  std::size_t position = 0;  ///< changes
};

struct Joiner : Object {
  Joiner(Budget* budget, Value s);
  Value separator;
  bool used = false;  ///< changes
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

/// A value's depth: 0 for those without an object.
inline int depth_of(const Value& value) { return value.object ? value.object->depth : 0; }

/// Equal for values that are equal and hash alike in Python; throws for those that cannot be
/// hashed.
std::string hash_key(const Value& value);

/// "str", "NoneType": Python's name of the type.
const char* type_name(const Value& value);
/// "str object", "None": as Jinja's messages call it.
std::string object_name(const Value& value);

bool is_true(Budget& budget, const Value& value);

}  // namespace rollcall::text::jinja
