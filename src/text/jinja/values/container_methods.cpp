// The methods of list, tuple, dict, range and cycler.
#include "text/jinja/values/access.hpp"
#include "text/jinja/values/operators.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text::jinja {
namespace {

Value index(Call& call) {
  const auto length = std::int64_t(call.self.items().size());
  const auto place = [&](std::size_t i, std::int64_t missing) {
    if (!call.has(i)) return missing;
    const std::int64_t v = whole_argument(call[i]);
    return v < 0 ? std::max<std::int64_t>(v + length, 0) : std::min(v, length);
  };
  for (std::int64_t i = place(1, 0); i < place(2, length); ++i) {
    if (equal(call.context, call.self.items()[std::size_t(i)], call[0])) return integer(i);
  }
  fail(call.self.is(Kind::tuple) ? "tuple.index(x): x not in tuple"
                                 : "the value is not in the list");
}

Value count(Call& call) {
  std::int64_t n = 0;
  for (const auto& item : call.self.items()) n += equal(call.context, item, call[0]) ? 1 : 0;
  return integer(n);
}

Value copy(Call& call) { return list(call.budget(), call.self.items()); }

Value get(Call& call) {
  const Value* found = call.self.dict().find(call[0]);
  return found ? *found : call.has(1) ? call[1] : none();
}

template <ViewOf kWhat>
Value view(Call& call) {
  Value value;
  value.kind = Kind::view;
  value.object = std::make_shared<View>(&call.budget(), call.self, kWhat);
  return value;
}

Value copy_dict(Call& call) {
  auto made = std::make_shared<Dict>(&call.budget());
  for (const auto& [key, value] : call.self.dict().items) {
    call.budget().step();
    made->set(key, value);
  }
  return dict(std::move(made));
}

Value range_index(Call& call) {
  const auto iterator = iterate(call.context, call.self);
  std::int64_t i = 0;
  for (Value item; iterator->advance(call.context, item); ++i) {
    if (equal(call.context, item, call[0])) return integer(i);
  }
  fail("the value is not in range");
}

Value range_count(Call& call) {
  return integer(contains(call.context, call.self, call[0]) ? 1 : 0);
}

Value next(Call& call) {
  auto& cycler = call.self.as<Cycler>();
  Value value = cycler.items[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items.size();
  return value;
}

Value reset(Call& call) {
  call.self.as<Cycler>().position = 0;
  return none();
}

constexpr Row kList[] = {
    {"copy", "/", copy}, {"count", "/ value!", count}, {"index", "/ value! start stop", index}};
constexpr Row kTuple[] = {{"count", "/ value!", count}, {"index", "/ value! start stop", index}};
constexpr Row kDict[] = {{"copy", "/", copy_dict},
                         {"get", "/ key! default", get},
                         {"items", "/", view<ViewOf::items>},
                         {"keys", "/", view<ViewOf::keys>},
                         {"values", "/", view<ViewOf::values>}};
constexpr Row kRange[] = {{"count", "/ value!", range_count}, {"index", "/ value!", range_index}};
constexpr Row kCycler[] = {{"next", "/", next}, {"reset", "/", reset}};

}  // namespace

std::span<const Row> container_methods(Kind kind) {
  switch (kind) {
    case Kind::list: return kList;
    case Kind::tuple: return kTuple;
    case Kind::dict: return kDict;
    case Kind::range: return kRange;
    case Kind::cycler: return kCycler;
    default: return {};
  }
}

}  // namespace rollcall::text::jinja
