// Jinja's global functions, and raise_exception and strftime_now, which transformers adds.
#include "text/jinja/values/operators.hpp"
#include "text/jinja/values/python_text.hpp"
#include "text/jinja/values/time_text.hpp"

#include <fmt/format.h>

namespace rollcall::text::jinja {
namespace {

constexpr std::int64_t kLongestRange = 100'000;  // MAX_RANGE of jinja2/sandbox.py

Value make_range(Call& call) {
  std::vector<std::int64_t> bounds;
  for (const auto& value : call.rest.positional) bounds.push_back(whole_argument(value));
  if (bounds.empty() || bounds.size() > 3)
    fail(fmt::format("range expected 1 to 3 arguments, got {}", bounds.size()));
  if (bounds.size() == 3 && bounds[2] == 0) fail("range() arg 3 must not be zero");
  Value value = range(call.budget(), bounds.size() == 1 ? 0 : bounds[0],
                      bounds[bounds.size() == 1 ? 0 : 1], bounds.size() == 3 ? bounds[2] : 1);
  const Range& r = value.range();
  if (r.length > kLongestRange || r.length < 0)
    fail(fmt::format("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).",
                     kLongestRange));
  return value;
}

/// Fills a dictionary from the arguments of dict(mapping or pairs, name=value, ...).
void fill(Call& call, Dict& out) {
  if (call.rest.positional.size() > 1)
    fail(fmt::format("dict expected at most 1 argument, got {}", call.rest.positional.size()));
  if (!call.rest.positional.empty()) {
    const Value& from = call.rest.positional.front();
    if (from.is(Kind::dict)) {
      for (const auto& [key, value] : from.dict().items) out.set(key, value);
    } else {
      const auto iterator = iterate(call.context, from);
      for (Value pair; iterator->advance(call.context, pair);) {
        const auto parts = collect(call.context, pair);
        if (parts.size() != 2)
          fail(fmt::format("dictionary update sequence element has length {}; 2 is required",
                           parts.size()));
        out.set(parts[0], parts[1]);
      }
    }
  }
  for (const auto& [name, value] : call.rest.named) out.set(string(call.budget(), name), value);
}

Value make_dict(Call& call) {
  auto made = std::make_shared<Dict>(&call.budget());
  fill(call, *made);
  return dict(std::move(made));
}

Value make_namespace(Call& call) {
  auto made = std::make_shared<Namespace>(&call.budget());
  Value value;
  value.kind = Kind::name_space;
  value.object = made;
  call.context.changing.push_back(value);
  fill(call, made->attributes);
  for (const auto& [key, item] : made->attributes.items) {
    if (key.is(Kind::string) && key.text().starts_with('_'))
      fail(fmt::format(
          "Chat templates cannot store underscore-prefixed attributes on a namespace, but got '{}'.",
          key.text()));
  }
  return value;
}

Value make_cycler(Call& call) {
  if (call.rest.positional.empty()) fail("at least one item has to be provided");
  Value value;
  value.kind = Kind::cycler;
  value.object = std::make_shared<Cycler>(&call.budget(), std::move(call.rest.positional));
  return value;
}

Value make_joiner(Call& call) {
  Value value;
  value.kind = Kind::joiner;
  value.object =
      std::make_shared<Joiner>(&call.budget(), call.has(0) ? call[0] : string(call.budget(), ", "));
  return value;
}

Value raise_exception(Call& call) { throw Fault{FaultKind::refused, str(call.context, call[0])}; }

Value strftime_now(Call& call) {
  call.context.clock_read = true;
  return string(call.budget(), time_text(text_argument(call[0], "strftime() argument 1")));
}

Value lipsum(Call&) { fail_unsupported("the function lipsum"); }

constexpr Row kFunctions[] = {
    {"cycler", "*", make_cycler},
    {"dict", "* **", make_dict},
    {"joiner", "sep", make_joiner},
    {"lipsum", "* **", lipsum},
    {"namespace", "* **", make_namespace},
    {"raise_exception", "message!", raise_exception},
    {"range", "*", make_range},
    {"strftime_now", "format!", strftime_now},
};

}  // namespace

std::span<const Row> functions() { return kFunctions; }

}  // namespace rollcall::text::jinja
