// Objects to be written as JSON, with values to be worked out.
#include "base/text/json.hpp"
#include "base/text/joined.hpp"
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rollcall::task {
namespace {

using Json = nlohmann::ordered_json;  // members stay in the order in which they are requested

/// A value, its JSON schema, and how the plain text and the text in words ask for it.
struct Value {
  Json value, schema;
  std::string plain, words;
};

Json type(const char* name) { return Json::object({{"type", name}}); }

Value draw_sum(Draws& draws) {
  const auto a = draws.below(10), b = draws.below(10);
  return {a + b, type("integer"), fmt::format("{}+{}", a, b),
          fmt::format("the sum of {} and {}, a number", a, b)};
}

Value draw_text(Draws& draws) {
  std::string text;
  for (std::int64_t i = draws.between(1, 3); i > 0; --i) text += char('a' + draws.below(26));
  return {text, type("string"), text, fmt::format("the text {}", text)};
}

Value draw_truth(Draws& draws) {
  const auto a = draws.below(10), b = draws.below(10);
  return {a < b, type("boolean"), fmt::format("{}<{}", a, b),
          fmt::format("whether {} is less than {}, true or false", a, b)};
}

Value draw_list(Draws& draws) {
  const Value a = draw_sum(draws), b = draw_sum(draws);
  return {Json::array({a.value, b.value}),
          Json::object({{"type", "array"}, {"items", a.schema}, {"minItems", 2}, {"maxItems", 2}}),
          fmt::format("[{},{}]", a.plain, b.plain),
          fmt::format("a list of two: {}; {}", a.words, b.words)};
}

/// Draws a value with at most `leaves` leaves and returns it with its number of leaves: sums at
/// level 1, strings from 2, booleans from 3, lists of two sums from 4.
std::pair<Value, std::int64_t> draw_value(std::int64_t level, std::int64_t leaves, Draws& draws) {
  switch (draws.below(leaves < 2 ? std::min<std::int64_t>(level, 3)
                                 : std::min<std::int64_t>(level, 4))) {
    case 0: return {draw_sum(draws), 1};
    case 1: return {draw_text(draws), 1};
    case 2: return {draw_truth(draws), 1};
    default: return {draw_list(draws), 2};
  }
}

/// Draws an object with `leaves` leaves; from five on, the last two are in a nested object.
Value draw_object(std::int64_t level, std::int64_t leaves, char& key, Draws& draws) {
  Value object{Json::object(), type("object"), {}, {}};
  object.schema["additionalProperties"] = false;
  std::vector<std::string> plain, words;
  for (std::int64_t left = leaves; left > 0;) {
    const std::string name(1, key++);
    const bool nested = leaves >= 5 && left <= 2;
    auto [value, used] = nested ? std::pair(draw_object(1, left, key, draws), left)
                                : draw_value(level, leaves >= 5 ? left - 2 : left, draws);
    left -= used;
    object.value[name] = std::move(value.value);
    object.schema["properties"][name] = std::move(value.schema);
    object.schema["required"].push_back(name);
    plain.push_back(name + "=" + value.plain);
    words.push_back(name + ": " + value.words);
  }
  object.plain = fmt::format("{{{}}}", joined(plain, ","));
  object.words = fmt::format("an object with {}", joined(words, "; "));
  return object;
}

std::optional<Item> draw_json(const TaskSection& section, std::int64_t level, Draws& draws) {
  char key = 'a';
  const Value object = draw_object(level, level, key, draws);
  const std::string plain = object.plain.substr(1, object.plain.size() - 2) + ":";
  Item item{plain, Json{{"schema", object.schema}, {"value", object.value}}.dump(),
            object.value.dump()};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question")
    item.text = fmt::format("Write {}. Answer with JSON only. It has to fit this JSON Schema:\n{}",
                            object.words, object.schema.dump());
  return item;
}

}  // namespace

PromptSet make_json(const TaskSection& section, std::uint64_t seed) {
  check_wordings("json", section.wording, {"plain", "question"});
  return generate(
      {"json", 1, 12,
       [&](std::int64_t level, Draws& draws) { return draw_json(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
