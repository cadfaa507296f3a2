// Attributes, items and slices of each kind of value.
#include "text/jinja/values/access.hpp"

#include "text/jinja/renderer_objects.hpp"
#include "text/jinja/values/characters.hpp"
#include "text/jinja/values/python_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rollcall::text::jinja {
namespace {

// Attributes of Python's types that change the object, which Jinja's immutable sandbox hides, and
// those that this interpreter lacks.
constexpr std::string_view kMutatingList[] = {"append", "clear", "pop",    "reverse",
                                              "insert", "sort",  "extend", "remove"};
constexpr std::string_view kMutatingDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kOtherText[] = {"encode", "maketrans", "translate"};
constexpr std::string_view kOtherNumber[] = {
    "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator",
    "from_bytes",       "fromhex",   "hex",        "imag",      "is_integer",
    "numerator",        "real",      "to_bytes"};
constexpr std::string_view kOtherView[] = {"isdisjoint", "mapping"};
constexpr std::string_view kOtherGenerator[] = {
    "close", "gi_code", "gi_frame", "gi_running", "gi_suspended", "gi_yieldfrom", "send", "throw"};

template <std::size_t N>
bool is_in(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Value hidden(Context& context, const Value& object, const std::string& name) {
  return undefined(context.budget, fmt::format("access to attribute '{}' of '{}' object is unsafe.",
                                               name, type_name(object)));
}

bool is_left_out(const Value& object, std::string_view name) {
  switch (object.kind) {
    case Kind::string: return is_in(kOtherText, name);
    case Kind::boolean:
    case Kind::integer:
    case Kind::real: return is_in(kOtherNumber, name);
    case Kind::dict: return name == "fromkeys";
    case Kind::view: return is_in(kOtherView, name);
    case Kind::iterator: return is_in(kOtherGenerator, name);
    default: return false;
  }
}

std::optional<Value> macro_attribute(Context& context, const Macro& macro, std::string_view name) {
  const auto& s = macro.statement.signature;
  if (name == "name") return macro.name().empty() ? none() : string(context.budget, macro.name());
  if (name == "catch_kwargs") return boolean(s.uses_kwargs);
  if (name == "catch_varargs") return boolean(s.uses_varargs);
  if (name == "caller") return boolean(s.uses_caller);
  if (name != "arguments") return std::nullopt;
  std::vector<Value> names;
  for (const auto& argument : s.names) names.push_back(string(context.budget, argument));
  return tuple(context.budget, std::move(names));
}

std::optional<Value> range_attribute(const Range& range, std::string_view name) {
  if (name == "start") return integer(range.start);
  if (name == "stop") return integer(range.stop);
  if (name == "step") return integer(range.step);
  return std::nullopt;
}

/// An attribute that is not a method.
std::optional<Value> property(Context& context, const Value& object, const std::string& name) {
  switch (object.kind) {
    case Kind::name_space: {
      const Value* found = object.as<Namespace>().attributes.find(name);
      return found ? std::optional(*found) : std::nullopt;
    }
    case Kind::loop: return loop_attribute(context, object, name);
    case Kind::macro: return macro_attribute(context, object.as<Macro>(), name);
    case Kind::range: return range_attribute(object.range(), name);
    case Kind::cycler:
      return name == "current"
                 ? std::optional(object.as<Cycler>().items[object.as<Cycler>().position])
                 : std::nullopt;
    case Kind::tuple:
      if (!object.as<Items>().group || (name != "grouper" && name != "list")) return std::nullopt;
      return object.items()[name == "grouper" ? 0 : 1];
    default: return std::nullopt;
  }
}

/// The place of an index, which counts from the end if it is negative. Nothing if it is outside.
std::optional<std::size_t> place_of(std::int64_t index, std::int64_t length) {
  if (index < 0) index += length;
  return index < 0 || index >= length ? std::nullopt : std::optional(std::size_t(index));
}

std::optional<Value> indexed(Context& context, const Value& object, const Value& key) {
  if (!key.is_whole()) return std::nullopt;
  const auto at = place_of(key.whole(), length(object));
  if (!at) return std::nullopt;
  if (object.is(Kind::range)) return integer(object.range().at(std::int64_t(*at)));
  if (!object.is(Kind::string)) return object.items()[*at];
  const bool ascii = object.as<Text>().is_ascii();
  if (!ascii) context.budget.look(std::int64_t(*at));
  const std::size_t begin = ascii ? *at : offset_of(object.text(), *at);
  std::size_t end = begin;
  next_character(object.text(), end);
  return string(context.budget, object.text().substr(begin, end - begin), object.safe);
}

/// Python's object[key]; nothing if that raises TypeError or LookupError.
std::optional<Value> subscript(Context& context, const Value& object, const Value& key) {
  switch (object.kind) {
    case Kind::undefined: fail(object.as<Undefined>().message);
    case Kind::string:
    case Kind::list:
    case Kind::tuple:
    case Kind::range: return indexed(context, object, key);
    case Kind::dict: {
      // Lists, dictionaries and views cannot be hashed.
      if (key.is(Kind::list) || key.is(Kind::dict) || key.is(Kind::view)) return std::nullopt;
      const Value* found = key.is(Kind::string) ? object.dict().find(std::string_view(key.text()))
                                                : object.dict().find(key);
      return found ? std::optional(*found) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

struct Bounds {
  std::int64_t start, stop, step;
};

/// The bounds of a slice, as CPython's PySlice_AdjustIndices computes them.
Bounds bounds_of(const Value& start, const Value& stop, const Value& step, std::int64_t length) {
  for (const Value* v : {&start, &stop, &step}) {
    if (!v->is(Kind::none) && !v->is_whole())
      fail("slice indices must be integers or None or have an __index__ method");
  }
  const std::int64_t by = step.is(Kind::none) ? 1 : std::max(step.whole(), -INT64_MAX);
  if (by == 0) fail("slice step cannot be zero");
  const auto adjusted = [&](const Value& v, std::int64_t missing) {
    if (v.is(Kind::none)) return missing;
    const std::int64_t i = v.whole() < 0 ? v.whole() + length : v.whole();
    return by > 0 ? std::clamp<std::int64_t>(i, 0, length)
                  : std::clamp<std::int64_t>(i, -1, length - 1);
  };
  return {adjusted(start, by > 0 ? 0 : length - 1), adjusted(stop, by > 0 ? length : -1), by};
}

std::string sliced_text(const Value& object, const Range& places) {
  const auto& text = object.text();
  if (object.as<Text>().is_ascii()) {
    if (places.step == 1) return text.substr(std::size_t(places.start), std::size_t(places.length));
    std::string out;
    for (std::int64_t i = 0; i < places.length; ++i) out += text[std::size_t(places.at(i))];
    return out;
  }
  std::vector<std::size_t> offsets;
  for (std::size_t at = 0; at < text.size(); next_character(text, at)) offsets.push_back(at);
  offsets.push_back(text.size());
  std::string out;
  for (std::int64_t i = 0; i < places.length; ++i) {
    const auto at = std::size_t(places.at(i));
    out += text.substr(offsets[at], offsets[at + 1] - offsets[at]);
  }
  return out;
}

}  // namespace

std::optional<Value> python_attribute(Context& context, const Value& object,
                                      const std::string& name) {
  context.budget.step();
  if (auto value = property(context, object, name))
    return name.starts_with('_') ? hidden(context, object, name) : *value;
  if (name.starts_with("__") && name.ends_with("__") && !object.is(Kind::name_space))
    return hidden(context, object, name);
  const bool changes = (object.is(Kind::list) && is_in(kMutatingList, name)) ||
                       (object.is(Kind::dict) && is_in(kMutatingDict, name));
  if (changes) return hidden(context, object, name);
  const Row* row = object.is(Kind::string) ? find_row(text_methods(), name)
                                           : find_row(container_methods(object.kind), name);
  if (row) return function(context, *row, object);
  if (is_left_out(object, name))
    fail_unsupported(fmt::format("the attribute '{}' of {}", name, type_name(object)));
  return std::nullopt;
}

Value attribute(Context& context, const Value& object, const std::string& name) {
  if (object.is(Kind::undefined)) fail(object.as<Undefined>().message);
  if (auto value = python_attribute(context, object, name)) return *std::move(value);
  if (object.is(Kind::dict)) {
    if (const Value* found = object.dict().find(std::string_view(name))) return *found;
  }
  return undefined(context.budget,
                   fmt::format("'{}' has no attribute '{}'", object_name(object), name));
}

Value item(Context& context, const Value& object, const Value& key) {
  context.budget.step();
  if (auto value = subscript(context, object, key)) return *std::move(value);
  if (!key.is(Kind::string))
    return undefined(context.budget,
                     fmt::format("{} has no element {}", object_name(object),
                                 key.is_number() ? repr(context, key) : type_name(key)));
  if (auto value = python_attribute(context, object, key.text())) return *std::move(value);
  return undefined(context.budget,
                   fmt::format("'{}' has no attribute '{}'", object_name(object), key.text()));
}

Value slice(Context& context, const Value& object, const Value& start, const Value& stop,
            const Value& step) {
  if (object.is(Kind::undefined)) fail(object.as<Undefined>().message);
  if (object.is(Kind::dict)) fail("unhashable type: 'slice'");
  if (!object.is(Kind::string) && !object.is(Kind::list) && !object.is(Kind::tuple) &&
      !object.is(Kind::range)) {
    fail(fmt::format("'{}' object is not subscriptable", type_name(object)));
  }
  const Bounds b = bounds_of(start, stop, step, length(object));
  const Range places(nullptr, b.start, b.stop, b.step);
  if (object.is(Kind::string)) {
    const auto size = std::int64_t(object.text().size());
    if (object.as<Text>().is_ascii()) {
      context.budget.look(places.step == 1 ? 0 : places.length);
    } else {
      context.budget.look(size);
      context.budget.check(size * std::int64_t(sizeof(std::size_t)));  // for the places of the
                                                                       // characters
    }
    return string(context.budget, sliced_text(object, places), object.safe);
  }
  if (object.is(Kind::range)) {
    const Range& r = object.range();
    std::int64_t by = 0;
    if (__builtin_mul_overflow(r.step, b.step, &by))
      fail_unsupported("a whole number beyond 64 bits");
    return range(context.budget, r.at(b.start), r.at(b.stop), by);
  }
  context.budget.check(places.length * std::int64_t(sizeof(Value)));
  std::vector<Value> items;
  for (std::int64_t i = 0; i < places.length; ++i)
    items.push_back(object.items()[std::size_t(places.at(i))]);
  return object.is(Kind::list) ? list(context.budget, std::move(items))
                               : tuple(context.budget, std::move(items));
}

}  // namespace rollcall::text::jinja
