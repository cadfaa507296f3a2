// Filters that return lists or single items.
#include "text/jinja/filter_rows.hpp"
#include "text/jinja/values/access.hpp"
#include "text/jinja/values/characters.hpp"
#include "text/jinja/values/operators.hpp"
#include "text/jinja/values/python_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text::jinja {
namespace {

bool flag(Call& call, std::size_t i) { return call.has(i) && is_true(call.budget(), call[i]); }

Value fallback(Call& call) {
  const bool missing =
      call.self.is(Kind::undefined) || (flag(call, 1) && !is_true(call.budget(), call.self));
  return !missing ? call.self : call.has(0) ? call[0] : string(call.budget(), "");
}

Value first(Call& call) {
  Value item;
  if (iterate(call.context, call.self)->advance(call.context, item)) return item;
  return undefined(call.budget(), "No first item, sequence was empty.");
}

Value last(Call& call) {
  if (call.self.is(Kind::undefined))
    return undefined(call.budget(), "No last item, sequence was empty.");
  if (!has_length(call.self))
    fail(fmt::format("'{}' object is not reversible", type_name(call.self)));
  const auto items = collect(call.context, call.self);
  return items.empty() ? undefined(call.budget(), "No last item, sequence was empty.")
                       : items.back();
}

Value attr(Call& call) {
  const auto& name = text_argument(call[0], "attribute name");
  if (call.self.is(Kind::undefined)) fail(call.self.as<Undefined>().message);
  if (auto value = python_attribute(call.context, call.self, name)) return *std::move(value);
  return undefined(call.budget(),
                   fmt::format("'{}' has no attribute '{}'", object_name(call.self), name));
}

Value join(Call& call) {
  const std::string separator = call.has(0) ? str(call.context, call[0]) : "";
  Builder out(call.budget());
  const auto iterator = iterate(call.context, call.self);
  bool is_first = true;
  for (Value item; iterator->advance(call.context, item); is_first = false) {
    if (call.has(1) && !call[1].is(Kind::none)) item = attribute_path(call.context, item, call[1]);
    if (!is_first) out += separator;
    out += str(call.context, item);
  }
  return string(call.budget(), out.take());
}

Value to_list(Call& call) { return list(call.budget(), collect(call.context, call.self)); }

Value reverse(Call& call) {
  if (call.self.is(Kind::string))
    return slice(call.context, call.self, none(), none(), integer(-1));
  auto items = collect(call.context, call.self);
  std::reverse(items.begin(), items.end());
  Value reversed = list(call.budget(), std::move(items));
  // Python's reversed() refuses an iterator, and Jinja then makes a list.
  if (call.self.is(Kind::iterator)) return reversed;
  return generator(call.context, reversed.object->depth, iterate(call.context, reversed)->next);
}

std::vector<std::pair<Value, Value>> keyed_by(Call& call, const Value* attribute,
                                              bool case_sensitive) {
  std::vector<std::pair<Value, Value>> keyed;
  std::vector<Value> paths;
  if (attribute && attribute->is(Kind::string)) {
    const std::string& text = attribute->text();
    for (std::size_t begin = 0, end = 0; end < text.size(); begin = end + 1) {
      end = std::min(text.find(',', begin), text.size());
      paths.push_back(string(call.budget(), text.substr(begin, end - begin)));
    }
    if (text.empty() || text.back() == ',') paths.push_back(string(call.budget(), ""));
  } else {
    paths.push_back(attribute ? *attribute : none());
  }
  for (const auto& item : collect(call.context, call.self)) {
    std::vector<Value> key;
    for (const auto& path : paths) {
      Value part = attribute_path(call.context, item, path);
      key.push_back(case_sensitive ? part : ignore_case(call.context, part));
    }
    call.budget().check(std::int64_t(keyed.size() * sizeof(keyed[0])));
    keyed.emplace_back(list(call.budget(), std::move(key)), item);
  }
  return keyed;
}

Value values_of(Call& call, std::vector<std::pair<Value, Value>> keyed) {
  std::vector<Value> items;
  for (auto& [key, item] : keyed) items.push_back(std::move(item));
  return list(call.budget(), std::move(items));
}

Value sort(Call& call) {
  auto keyed = keyed_by(call, call.has(2) ? &call[2] : nullptr, flag(call, 1));
  sort_values(call.context, keyed, flag(call, 0));
  return values_of(call, std::move(keyed));
}

Value dictsort(Call& call) {
  const std::string by = call.has(1) ? text_argument(call[1], "by") : "key";
  if (by != "key" && by != "value") fail("You can only sort by either \"key\" or \"value\"");
  if (!call.self.is(Kind::dict))
    fail(fmt::format("'{}' object has no attribute 'items'", type_name(call.self)));
  std::vector<std::pair<Value, Value>> keyed;
  for (const auto& [key, value] : call.self.dict().items) {
    const Value& part = by == "key" ? key : value;
    keyed.emplace_back(flag(call, 0) ? part : ignore_case(call.context, part),
                       tuple(call.budget(), {key, value}));
  }
  sort_values(call.context, keyed, flag(call, 2));
  return values_of(call, std::move(keyed));
}

template <Operator kOp>
Value extreme(Call& call) {
  Value best, best_key;
  bool any = false;
  const auto iterator = iterate(call.context, call.self);
  for (Value item; iterator->advance(call.context, item);) {
    Value key = attribute_path(call.context, item, call.has(1) ? call[1] : none());
    if (!flag(call, 0)) key = ignore_case(call.context, key);
    if (any && !compare(call.context, kOp, key, best_key)) continue;
    any = true;
    best = std::move(item);
    best_key = std::move(key);
  }
  return any ? best : undefined(call.budget(), "No aggregated item, sequence was empty.");
}

Value sum(Call& call) {
  Value total = call.has(1) ? call[1] : integer(0);
  if (total.is(Kind::string)) fail("sum() can't sum strings [use ''.join(seq) instead]");
  const auto iterator = iterate(call.context, call.self);
  for (Value item; iterator->advance(call.context, item);) {
    if (call.has(0) && !call[0].is(Kind::none)) item = attribute_path(call.context, item, call[0]);
    total = binary(call.context, Operator::add, total, item);
  }
  return total;
}

Value groupby(Call& call) {
  const bool case_sensitive = flag(call, 2);
  const Value* missing = call.has(1) && !call[1].is(Kind::none) ? &call[1] : nullptr;
  std::vector<std::pair<Value, Value>> keyed;
  for (const auto& item : collect(call.context, call.self)) {
    Value key = attribute_path(call.context, item, call[0], missing);
    keyed.emplace_back(case_sensitive ? key : ignore_case(call.context, key), item);
  }
  sort_values(call.context, keyed, false);
  std::vector<Value> groups;
  for (std::size_t i = 0; i < keyed.size();) {
    std::vector<Value> members;
    const std::size_t begin = i;
    for (; i < keyed.size() && equal(call.context, keyed[i].first, keyed[begin].first); ++i)
      members.push_back(keyed[i].second);
    if (i == begin) members.push_back(keyed[i++].second);  // a NaN, which differs from itself
    const Value shown = case_sensitive
                            ? keyed[begin].first
                            : attribute_path(call.context, keyed[begin].second, call[0], missing);
    groups.push_back(tuple(call.budget(), {shown, list(call.budget(), std::move(members))}, true));
  }
  return list(call.budget(), std::move(groups));
}

constexpr Row kFilters[] = {
    {"attr", "name!", attr},
    {"d", "default_value boolean", fallback},
    {"default", "default_value boolean", fallback},
    {"dictsort", "case_sensitive by reverse", dictsort},
    {"first", "", first},
    {"groupby", "attribute! default case_sensitive", groupby},
    {"join", "d attribute", join},
    {"last", "", last},
    {"list", "", to_list},
    {"max", "case_sensitive attribute", extreme<Operator::greater>},
    {"min", "case_sensitive attribute", extreme<Operator::less>},
    {"reverse", "", reverse},
    {"sort", "reverse case_sensitive attribute", sort},
    {"sum", "attribute start", sum},
};

}  // namespace

Value attribute_path(Context& context, Value value, const Value& path, const Value* fallback) {
  if (path.is(Kind::none)) return value;
  const auto step = [&](const Value& key) {
    value = item(context, value, key);
    if (fallback && value.is(Kind::undefined)) value = *fallback;
  };
  if (!path.is(Kind::string)) {
    step(path);
    return value;
  }
  const std::string_view text = path.text();
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    const std::string part(text.substr(begin, end - begin));
    const bool digits =
        !part.empty() && part.size() < 18 &&
        std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    step(digits ? integer(std::stoll(part)) : string(context.budget, part));
    if (end == text.size()) return value;
    begin = end + 1;
  }
}

Value ignore_case(Context& context, const Value& value) {
  if (!value.is(Kind::string)) return value;
  context.budget.look(std::int64_t(value.text().size()));
  return string(context.budget, lower(value.text()), value.safe);
}

void sort_values(Context& context, std::vector<std::pair<Value, Value>>& keyed, bool reverse) {
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return reverse ? compare(context, Operator::less, b.first, a.first)
                   : compare(context, Operator::less, a.first, b.first);
  });
}

std::span<const Row> sequence_filters() { return kFilters; }

}  // namespace rollcall::text::jinja
