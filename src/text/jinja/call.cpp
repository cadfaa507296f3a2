// Binds arguments to the signatures of rows, and iterates over values.
#include "text/jinja/call.hpp"

#include "text/jinja/values/characters.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text::jinja {
namespace {

struct Parameters {
  std::vector<std::string_view> names;
  std::vector<bool> required;
  bool by_name = true, more = false, more_named = false;
};

Parameters parameters_of(std::string_view signature) {
  Parameters p;
  while (!signature.empty()) {
    const std::size_t end = std::min(signature.find(' '), signature.size());
    std::string_view word = signature.substr(0, end);
    signature.remove_prefix(std::min(end + 1, signature.size()));
    if (word == "/") {
      p.by_name = false;
    } else if (word == "*") {
      p.more = true;
    } else if (word == "**") {
      p.more_named = true;
    } else {
      p.required.push_back(word.ends_with('!'));
      if (p.required.back()) word.remove_suffix(1);
      p.names.push_back(word);
    }
  }
  return p;
}

void bind_named(const Row& row, const Parameters& p, Arguments& arguments, Call& call) {
  for (auto& [name, value] : arguments.named) {
    const auto at = p.by_name ? std::find(p.names.begin(), p.names.end(), name) : p.names.end();
    if (at == p.names.end()) {
      if (!p.more_named)
        fail(fmt::format("{}() got an unexpected keyword argument '{}'", row.name, name));
      call.rest.named.emplace_back(name, std::move(value));
      continue;
    }
    const auto i = std::size_t(at - p.names.begin());
    if (call.given[i])
      fail(fmt::format("{}() got multiple values for argument '{}'", row.name, name));
    call.given[i] = true;
    call.values[i] = std::move(value);
  }
}

Value character(Context& context, std::string_view text, std::size_t& at, bool safe) {
  const std::size_t begin = at;
  next_character(text, at);
  return string(context.budget, std::string(text.substr(begin, at - begin)), safe);
}

/// Goes over a dictionary by position, since it does not change while a template runs.
Iterator::Next over_dict(const Value& value, ViewOf what) {
  return [value, what, i = std::size_t(0)](Context& context, Value& out) mutable {
    const auto& items = value.dict().items;
    if (i == items.size()) return false;
    const auto& [key, item] = items[i++];
    out = what == ViewOf::keys     ? key
          : what == ViewOf::values ? item
                                   : tuple(context.budget, {key, item});
    return true;
  };
}

Iterator::Next over(const Value& value) {
  switch (value.kind) {
    case Kind::undefined: return [](Context&, Value&) { return false; };
    case Kind::list:
    case Kind::tuple:
      return [value, i = std::size_t(0)](Context&, Value& out) mutable {
        if (i == value.items().size()) return false;
        out = value.items()[i++];
        return true;
      };
    case Kind::string:
      return [value, at = std::size_t(0)](Context& context, Value& out) mutable {
        if (at == value.text().size()) return false;
        out = character(context, value.text(), at, value.safe);
        return true;
      };
    case Kind::range:
      return [value, i = std::int64_t(0)](Context&, Value& out) mutable {
        if (i == value.range().length) return false;
        out = integer(value.range().at(i++));
        return true;
      };
    case Kind::dict: return over_dict(value, ViewOf::keys);
    case Kind::view: return over_dict(value.as<View>().dict, value.as<View>().what);
    case Kind::loop: fail_unsupported("iterating over the variable loop");
    default: fail(fmt::format("'{}' object is not iterable", type_name(value)));
  }
}

}  // namespace

const Row* find_row(std::span<const Row> rows, std::string_view name) {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.name == name; });
  return row == rows.end() ? nullptr : &*row;
}

Value apply(const Row& row, Context& context, const Value& self, Arguments arguments) {
  context.budget.step();
  // Every function costs at least this much for a string. Those that cost more charge for it
  // themselves.
  if (self.is(Kind::string)) context.budget.work(std::int64_t(self.text().size()));
  for (const auto& value : arguments.positional)
    if (value.is(Kind::string)) context.budget.work(std::int64_t(value.text().size()));
  const Parameters p = parameters_of(row.signature);
  Call call{context,
            self,
            std::vector<Value>(p.names.size()),
            std::vector<bool>(p.names.size(), false),
            {}};
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    if (i < p.names.size()) {
      call.given[i] = true;
      call.values[i] = std::move(arguments.positional[i]);
    } else if (p.more) {
      call.rest.positional.push_back(std::move(arguments.positional[i]));
    } else {
      fail(fmt::format("{}() takes at most {} arguments ({} given)", row.name, p.names.size(),
                       arguments.positional.size()));
    }
  }
  bind_named(row, p, arguments, call);
  for (std::size_t i = 0; i < p.names.size(); ++i) {
    if (p.required[i] && !call.given[i])
      fail(fmt::format("{}() missing required argument '{}'", row.name, p.names[i]));
  }
  return row.apply(call);
}

Function::Function(Budget* b, const Row& r, Value s)
    : Object(b, 0, 1 + depth_of(s)), row(r), self(std::move(s)) {}

Value function(Context& context, const Row& row, const Value& self) {
  Value value;
  value.kind = Kind::function;
  value.object = std::make_shared<Function>(&context.budget, row, self);
  return value;
}

std::int64_t whole_argument(const Value& value) {
  if (!value.is_whole())
    fail(fmt::format("'{}' object cannot be interpreted as an integer", type_name(value)));
  return value.whole();
}

const std::string& text_argument(const Value& value, const char* what) {
  if (!value.is(Kind::string)) fail(fmt::format("{} must be str, not {}", what, type_name(value)));
  return value.text();
}

Iterator::Iterator(Budget* b, int d, Next n) : Object(b, sizeof(Next), d), next(std::move(n)) {}

bool Iterator::advance(Context& context, Value& value) {
  const Deeper deeper(context.budget);
  context.budget.step();
  return next(context, value);
}

Value generator(Context& context, int depth, Iterator::Next next) {
  Value value;
  value.kind = Kind::iterator;
  value.object = std::make_shared<Iterator>(&context.budget, depth + 1, std::move(next));
  return value;
}

std::shared_ptr<Iterator> iterate(Context& context, const Value& value) {
  if (value.is(Kind::iterator)) return std::static_pointer_cast<Iterator>(value.object);
  return std::make_shared<Iterator>(&context.budget, 1 + depth_of(value), over(value));
}

bool is_iterable(const Value& value) {
  switch (value.kind) {
    case Kind::undefined:
    case Kind::list:
    case Kind::tuple:
    case Kind::string:
    case Kind::range:
    case Kind::dict:
    case Kind::view:
    case Kind::iterator:
    case Kind::loop: return true;
    default: return false;
  }
}

std::vector<Value> collect(Context& context, const Value& value) {
  if (value.is(Kind::list) || value.is(Kind::tuple)) {
    context.budget.work(std::int64_t(value.items().size() * sizeof(Value)));
    context.budget.check(std::int64_t(value.items().size() * sizeof(Value)));
    return value.items();
  }
  std::vector<Value> items;
  const auto iterator = iterate(context, value);
  for (Value item; iterator->advance(context, item);) {
    context.budget.check(std::int64_t(items.size() * sizeof(Value)));
    items.push_back(std::move(item));
  }
  return items;
}

bool has_length(const Value& value) {
  switch (value.kind) {
    case Kind::undefined:
    case Kind::list:
    case Kind::tuple:
    case Kind::string:
    case Kind::range:
    case Kind::dict:
    case Kind::view: return true;
    default: return false;
  }
}

std::int64_t length(const Value& value) {
  switch (value.kind) {
    case Kind::undefined: return 0;
    case Kind::string: return std::int64_t(value.as<Text>().length);
    case Kind::list:
    case Kind::tuple: return std::int64_t(value.items().size());
    case Kind::dict: return std::int64_t(value.dict().items.size());
    case Kind::view: return std::int64_t(value.as<View>().dict.dict().items.size());
    case Kind::range: return value.range().length;
    case Kind::loop:
      fail_unsupported("the length of the variable loop by a filter (loop.length is)");
    default: fail(fmt::format("object of type '{}' has no len()", type_name(value)));
  }
}

}  // namespace rollcall::text::jinja
