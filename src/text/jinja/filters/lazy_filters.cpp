// Filters that return generators. They do nothing, and cannot fail, before their first item is
// needed.
#include "text/jinja/filter_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace rollcall::text::jinja {
namespace {

int depth_with(const Call& call) {
  int depth = depth_of(call.self);
  for (const auto& value : call.values) depth = std::max(depth, depth_of(value));
  for (const auto& value : call.rest.positional) depth = std::max(depth, depth_of(value));
  for (const auto& [name, value] : call.rest.named) depth = std::max(depth, depth_of(value));
  return depth;
}

/// The items of a value. Its iterator is made when the first item is needed.
struct Source {
  Value value;
  std::shared_ptr<Iterator> iterator = {};

  bool next(Context& context, Value& item) {
    if (!iterator) {
      iterator = iterate(context, value);
    }
    return iterator->advance(context, item);
  }
};

const Row& row_or_fail(std::span<const Row> rows, const Value& name, const char* what) {
  const auto& text = text_argument(name, what);
  const Row* row = find_row(rows, text);
  if (!row && is_known_to_jinja(text)) fail_unsupported(fmt::format("the {} '{}'", what, text));
  if (!row) fail(fmt::format("No {} named '{}'.", what, text));
  return *row;
}

Value map_attribute(Context& context, const Arguments& arguments, const Value& item) {
  const Value *attribute = nullptr, *fallback = nullptr;
  for (const auto& [name, value] : arguments.named) {
    if (name == "attribute") attribute = &value;
    else if (name == "default") fallback = &value;
    else fail(fmt::format("Unexpected keyword argument '{}'", name));
  }
  if (!attribute) fail("map requires a filter argument");
  return attribute_path(context, item, *attribute,
                        fallback && !fallback->is(Kind::none) ? fallback : nullptr);
}

Value map(Call& call) {
  return generator(call.context, depth_with(call),
                   [source = Source{call.self}, arguments = std::move(call.rest)](
                       Context& context, Value& out) mutable {
                     if (!is_true(context.budget, source.value)) return false;
                     if (arguments.positional.empty()) {
                       const bool by_attribute =
                           std::any_of(arguments.named.begin(), arguments.named.end(),
                                       [](const auto& a) { return a.first == "attribute"; });
                       if (!by_attribute) fail("map requires a filter argument");
                     }
                     const Row* row =
                         arguments.positional.empty()
                             ? nullptr
                             : &row_or_fail(filters(), arguments.positional.front(), "filter");
                     Value item;
                     if (!source.next(context, item)) return false;
                     context.budget.work(std::int64_t(arguments.positional.size() * sizeof(Value)));
                     Arguments rest = arguments;
                     if (row) rest.positional.erase(rest.positional.begin());
                     out = row ? apply(*row, context, item, std::move(rest))
                               : map_attribute(context, arguments, item);
                     return true;
                   });
}

/// Whether select and similar filters keep an item, because it passes a test or is true.
bool passes(Context& context, const Arguments& arguments, std::size_t skip, const Value& item) {
  if (arguments.positional.size() <= skip) return is_true(context.budget, item);
  context.budget.work(std::int64_t(arguments.positional.size() * sizeof(Value)));
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() + std::ptrdiff_t(skip) + 1);
  return is_true(context.budget, apply(row_or_fail(tests(), arguments.positional[skip], "test"),
                                       context, item, std::move(rest)));
}

template <bool kKeep, bool kAttribute>
Value select(Call& call) {
  return generator(call.context, depth_with(call),
                   [source = Source{call.self}, arguments = std::move(call.rest)](
                       Context& context, Value& out) mutable {
                     if (!is_true(context.budget, source.value)) return false;
                     if (kAttribute && arguments.positional.empty())
                       fail("Missing parameter for attribute name");
                     while (source.next(context, out)) {
                       const Value tested =
                           kAttribute ? attribute_path(context, out, arguments.positional.front())
                                      : out;
                       if (passes(context, arguments, kAttribute ? 1 : 0, tested) == kKeep)
                         return true;
                     }
                     return false;
                   });
}

Value unique(Call& call) {
  const bool case_sensitive = call.has(0) && is_true(call.budget(), call[0]);
  const Value attribute = call.has(1) ? call[1] : none();
  return generator(call.context, depth_with(call),
                   [=, source = Source{call.self}, seen = std::unordered_set<std::string>(),
                    held = std::int64_t(0)](Context& context, Value& out) mutable {
                     while (source.next(context, out)) {
                       const Value key = attribute_path(context, out, attribute);
                       std::string hash =
                           hash_key(case_sensitive ? key : ignore_case(context, key));
                       context.budget.work(std::int64_t(hash.size()));
                       context.budget.check(held += 64 + std::int64_t(hash.size()));
                       if (seen.insert(std::move(hash)).second) return true;
                     }
                     return false;
                   });
}

Value items(Call& call) {
  return generator(
      call.context, depth_with(call),
      [source = Source{call.self}, i = std::size_t(0)](Context& context, Value& out) mutable {
        if (source.value.is(Kind::undefined)) return false;
        if (!source.value.is(Kind::dict)) fail("Can only get item pairs from a mapping.");
        const auto& all = source.value.dict().items;
        if (i == all.size()) return false;
        out = tuple(context.budget, {all[i].first, all[i].second});
        ++i;
        return true;
      });
}

Value batch(Call& call) {
  const Value fill = call.has(1) ? call[1] : none(), size = call[0];
  return generator(
      call.context, depth_with(call),
      [=, source = Source{call.self}, pending = std::optional<Value>()](Context& context,
                                                                        Value& out) mutable {
        std::vector<Value> part;
        if (pending) part.push_back(*std::exchange(pending, std::nullopt));
        for (Value item; source.next(context, item);) {
          if (size.is_number() && std::int64_t(part.size()) == whole_argument(size)) {
            pending = std::move(item);
            break;
          }
          context.budget.check(std::int64_t(part.size() * sizeof(Value)));
          part.push_back(std::move(item));
        }
        if (part.empty() && !pending) return false;
        if (!pending && !fill.is(Kind::none) && !part.empty()) {
          for (context.budget.check(whole_argument(size) * std::int64_t(sizeof(Value)));
               std::int64_t(part.size()) < whole_argument(size);)
            part.push_back(fill);
        }
        out = list(context.budget, std::move(part));
        return true;
      });
}

Value slice(Call& call) {
  const Value fill = call.has(1) ? call[1] : none(), count = call[0];
  return generator(call.context, depth_with(call),
                   [=, value = call.self, i = std::int64_t(0), offset = std::int64_t(0)](
                       Context& context, Value& out) mutable {
                     const auto all = collect(context, value);
                     const std::int64_t slices = whole_argument(count),
                                        length = std::int64_t(all.size());
                     if (slices == 0) fail("integer division or modulo by zero");
                     if (i >= slices) return false;
                     // A generator's items are kept, since it yields them only once.
                     if (!value.is(Kind::list)) value = list(context.budget, all);
                     const std::int64_t start = offset + i * (length / slices);
                     if (i < length % slices) ++offset;
                     const std::int64_t end = offset + (i + 1) * (length / slices);
                     std::vector<Value> part(all.begin() + std::ptrdiff_t(start),
                                             all.begin() + std::ptrdiff_t(end));
                     if (!fill.is(Kind::none) && i >= length % slices) part.push_back(fill);
                     ++i;
                     out = list(context.budget, std::move(part));
                     return true;
                   });
}

constexpr Row kFilters[] = {
    {"batch", "linecount! fill_with", batch},
    {"items", "", items},
    {"map", "* **", map},
    {"reject", "* **", select<false, false>},
    {"rejectattr", "* **", select<false, true>},
    {"select", "* **", select<true, false>},
    {"selectattr", "* **", select<true, true>},
    {"slice", "slices! fill_with", slice},
    {"unique", "case_sensitive attribute", unique},
};

}  // namespace

std::span<const Row> lazy_filters() { return kFilters; }

}  // namespace rollcall::text::jinja
