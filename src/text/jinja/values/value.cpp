// Makes values and charges the budget for them; dictionaries; names of types.
#include "text/jinja/values/value.hpp"

#include "text/jinja/values/characters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace rollcall::text::jinja {
namespace {

// Bytes that a value takes in addition to its content. They are the sizes of its structures,
// rounded up, including the allocator's and the index's share.
constexpr std::int64_t kObjectBytes = 96, kValueBytes = sizeof(Value),
                       kEntryBytes = 2 * kValueBytes + 96;

int deepest(const std::vector<Value>& values) {
  int depth = 0;
  for (const auto& value : values) depth = std::max(depth, depth_of(value));
  return depth;
}

template <class T, class... Arguments>
Value object_value(Kind kind, Arguments&&... arguments) {
  Value value;
  value.kind = kind;
  value.object = std::make_shared<T>(std::forward<Arguments>(arguments)...);
  return value;
}

/// A key that differs from those for other kinds of values.
std::string tagged(char kind, std::string_view text) {
  std::string key;
  key.reserve(text.size() + 1);
  return key.append(1, kind).append(text);
}

}  // namespace

Object::Object(Budget* b, std::int64_t n, int d) : budget(b), bytes(n + kObjectBytes), depth(d) {
  if (depth > kValueDepth) throw Fault{FaultKind::limit, "values nested too deeply"};
  if (budget) budget->take(bytes);
}
Object::~Object() {
  if (budget) budget->give(bytes);
}

Text::Text(Budget* b, std::string s)
    : Object(b, std::int64_t(s.capacity())), text(std::move(s)), length(character_count(text)) {}
Items::Items(Budget* b, std::vector<Value> v, bool g)
    : Object(b, std::int64_t(v.capacity()) * kValueBytes, 1 + deepest(v)),
      items(std::move(v)),
      group(g) {}
Dict::Dict(Budget* b) : Object(b, 0) {}
Range::Range(Budget* b, std::int64_t from, std::int64_t to, std::int64_t by)
    : Object(b, 0), start(from), stop(to), step(by) {
  const __int128 distance = by > 0 ? __int128(to) - from : __int128(from) - to;
  const __int128 size = by > 0 ? by : -__int128(by);
  length = distance <= 0 ? 0 : std::int64_t((distance + size - 1) / size);
}
View::View(Budget* b, Value d, ViewOf w)
    : Object(b, 0, 1 + depth_of(d)), dict(std::move(d)), what(w) {}
Undefined::Undefined(Budget* b, std::string m)
    : Object(b, std::int64_t(m.capacity())), message(std::move(m)) {}
Namespace::Namespace(Budget* b) : Object(b, 0), attributes(b) {}
Cycler::Cycler(Budget* b, std::vector<Value> v)
    : Object(b, std::int64_t(v.capacity()) * kValueBytes, 1 + deepest(v)), items(std::move(v)) {}
Joiner::Joiner(Budget* b, Value s) : Object(b, 0, 1 + depth_of(s)), separator(std::move(s)) {}

const std::string& Value::text() const { return as<Text>().text; }
const std::vector<Value>& Value::items() const { return as<Items>().items; }
const Dict& Value::dict() const { return as<Dict>(); }
const Range& Value::range() const { return as<Range>(); }

const Value* Dict::find(const Value& key) const {
  const std::string hash = hash_key(key);
  if (budget) budget->work(std::int64_t(hash.size()));
  const auto found = index_.find(hash);
  return found == index_.end() ? nullptr : &items[found->second].second;
}

const Value* Dict::find(std::string_view key) const {
  if (budget) budget->work(std::int64_t(key.size()));
  const auto found = index_.find(tagged('s', key));
  return found == index_.end() ? nullptr : &items[found->second].second;
}

void Dict::set(Value key, Value value) {
  std::string hash = hash_key(key);
  if (budget) budget->work(std::int64_t(hash.size()));
  const std::int64_t more = kEntryBytes + std::int64_t(hash.size());
  const auto [at, is_new] = index_.try_emplace(std::move(hash), items.size());
  if (!is_new) {
    items[at->second].second = std::move(value);
  } else {
    items.emplace_back(std::move(key), std::move(value));
    if (budget) budget->take(more);
    bytes += more;
  }
  const auto& [k, v] = items[at->second];
  depth = std::max({depth, 1 + depth_of(k), 1 + depth_of(v)});
  if (depth > kValueDepth) throw Fault{FaultKind::limit, "values nested too deeply"};
}

Value boolean(bool b) {
  Value value;
  value.kind = Kind::boolean;
  value.boolean = b;
  return value;
}

Value integer(std::int64_t i) {
  Value value;
  value.kind = Kind::integer;
  value.integer = i;
  return value;
}

Value real(double d) {
  Value value;
  value.kind = Kind::real;
  value.real = d;
  return value;
}

Value string(Budget& budget, std::string s, bool safe) {
  budget.work(std::int64_t(s.size()));
  auto value = object_value<Text>(Kind::string, &budget, std::move(s));
  value.safe = safe;
  return value;
}

Value list(Budget& budget, std::vector<Value> items) {
  budget.work(std::int64_t(items.size()) * kValueBytes);
  return object_value<Items>(Kind::list, &budget, std::move(items));
}

Value tuple(Budget& budget, std::vector<Value> items, bool group) {
  budget.work(std::int64_t(items.size()) * kValueBytes);
  return object_value<Items>(Kind::tuple, &budget, std::move(items), group);
}

Value undefined(Budget& budget, std::string message) {
  return object_value<Undefined>(Kind::undefined, &budget, std::move(message));
}
Value range(Budget& budget, std::int64_t start, std::int64_t stop, std::int64_t step) {
  return object_value<Range>(Kind::range, &budget, start, stop, step);
}

Value dict(std::shared_ptr<Dict> d) {
  Value value;
  value.kind = Kind::dict;
  value.object = std::move(d);
  return value;
}

std::string hash_key(const Value& value) {
  switch (value.kind) {
    case Kind::string: return tagged('s', value.text());
    case Kind::boolean:
    case Kind::integer: return tagged('n', std::to_string(value.whole()));
    case Kind::real:
      if (value.real == std::floor(value.real) && std::abs(value.real) < 9.2e18)
        return tagged('n', std::to_string(std::int64_t(value.real)));
      return tagged('f', std::to_string(std::bit_cast<std::uint64_t>(value.real)));
    case Kind::none: return "0";
    case Kind::undefined: return "u";
    case Kind::tuple: {
      std::string key = "(";
      for (const auto& item : value.items()) {
        const std::string part = hash_key(item);
        key += std::to_string(part.size()) + ":" + part;
        if (key.size() > std::size_t(1) << 20)
          throw Fault{FaultKind::limit, "a tuple of more than 1 MiB as a key"};
      }
      return key;
    }
    case Kind::range: fail_unsupported("a range as a key");
    case Kind::list:
    case Kind::dict:
    case Kind::view: fail(fmt::format("unhashable type: '{}'", type_name(value)));
    default: return tagged('o', std::to_string(std::bit_cast<std::uintptr_t>(value.object.get())));
  }
}

const char* type_name(const Value& value) {
  switch (value.kind) {
    case Kind::undefined: return "Undefined";
    case Kind::none: return "NoneType";
    case Kind::boolean: return "bool";
    case Kind::integer: return "int";
    case Kind::real: return "float";
    case Kind::string: return value.safe ? "Markup" : "str";
    case Kind::list: return "list";
    case Kind::tuple: return "tuple";
    case Kind::dict: return "dict";
    case Kind::range: return "range";
    case Kind::view:
      return value.as<View>().what == ViewOf::keys     ? "dict_keys"
             : value.as<View>().what == ViewOf::values ? "dict_values"
                                                       : "dict_items";
    case Kind::iterator: return "generator";
    case Kind::name_space: return "Namespace";
    case Kind::function: return "function";
    case Kind::macro: return "Macro";
    case Kind::loop: return "LoopContext";
    case Kind::cycler: return "Cycler";
    case Kind::joiner: return "Joiner";
  }
  return "";
}

std::string object_name(const Value& value) {
  return value.is(Kind::none) ? "None" : std::string(type_name(value)) + " object";
}

bool is_true(Budget& budget, const Value& value) {
  budget.step();
  switch (value.kind) {
    case Kind::undefined:
    case Kind::none: return false;
    case Kind::boolean: return value.boolean;
    case Kind::integer: return value.integer != 0;
    case Kind::real: return value.real != 0;
    case Kind::string: return !value.text().empty();
    case Kind::list:
    case Kind::tuple: return !value.items().empty();
    case Kind::dict: return !value.dict().items.empty();
    case Kind::range: return value.range().length != 0;
    case Kind::view: return !value.as<View>().dict.dict().items.empty();
    default: return true;
  }
}

}  // namespace rollcall::text::jinja
