// Compares JSON with a schema and a value, in the five components of RL-Struct (arXiv:2512.00319):
// format, validity, structure, correctness, length.
#include "reward/exact_json.hpp"
#include "reward/json_schema.hpp"
#include "reward/reference.hpp"
#include "text/answer/answer_text.hpp"

#include <algorithm>

namespace rollcall::reward {
namespace {

struct Wanted {
  Json schema;
  std::optional<Json> value;
};

Wanted read_wanted(const Json& reference) {
  Wanted wanted{reference.at("schema"), std::nullopt};
  require_schema(wanted.schema);
  if (reference.contains("value")) wanted.value = reference.at("value");
  return wanted;
}

std::optional<Json> parsed(std::string_view text) {
  std::string fault;
  Json json = parse_exact(text, fault);
  return fault.empty() ? std::optional(std::move(json)) : std::nullopt;
}

/// The value within other text, from the first opening bracket to the last closing one of its kind.
std::optional<Json> parsed_within(std::string_view text) {
  const std::size_t begin = text.find_first_of("{[");
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.rfind(text[begin] == '{' ? '}' : ']');
  return end == std::string_view::npos || end < begin ? std::nullopt
                                                      : parsed(text.substr(begin, end - begin + 1));
}

struct Leaves {
  std::size_t equal = 0, all = 0;
};

/// Counts the leaves of the wanted value that are in their places; an empty object or array is a
/// leaf.
void compare(const Json& wanted, const Json* given, Leaves& leaves) {
  if (wanted.empty() || !wanted.is_structured()) {
    ++leaves.all;
    leaves.equal += given != nullptr && *given == wanted ? 1 : 0;
    return;
  }
  if (wanted.is_object()) {
    for (const auto& [key, inner] : wanted.items())
      compare(inner,
              given != nullptr && given->is_object() && given->contains(key) ? &given->at(key)
                                                                             : nullptr,
              leaves);
    return;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i)
    compare(wanted[i],
            given != nullptr && given->is_array() && i < given->size() ? &(*given)[i] : nullptr,
            leaves);
}

/// 1 up to twice the size of the reference; beyond that, twice that size divided by the answer's.
/// The paper names the component but gives no formula.
double length_mark(std::size_t bytes, const std::optional<Json>& value) {
  if (bytes == 0) return 0.0;
  return value ? std::min(1.0, 2.0 * double(written(*value).size()) / double(bytes)) : 1.0;
}

}  // namespace

Score judge_json(const Prompt& prompt, const Response& response) {
  const auto wanted = read_reference(
      prompt, R"({"schema": {"type": "object"}, "value": {"a": 1}}, of which value may be missing)",
      [&](const Json&) {
        std::string read_already;
        return read_wanted(parse_exact(prompt.answer, read_already));
      });
  const auto text = complete_answer(response);
  if (!text) return no_answer(6);
  const double length = length_mark(text->size(), wanted.value);
  auto value = parsed(*text);
  const bool format = value.has_value();
  if (!value) value = parsed_within(*text);
  if (!value) return score_of({0, 0, 0, 0, 0, length}, {}, "it holds no JSON");
  const SchemaMarks marks = check_schema(wanted.schema, *value);
  Leaves leaves;
  if (wanted.value) compare(*wanted.value, &*value, leaves);
  const bool same = !wanted.value || *value == *wanted.value;
  const bool correct = format && marks.met == marks.asked && same;
  const std::string reason = !format                ? "text stands around the JSON"
                             : !marks.fault.empty() ? marks.fault
                                                    : "a value is not the one asked for";
  return score_of({double(correct), double(format), 1.0, share(marks.met, marks.asked),
                   share(leaves.equal, leaves.all), length},
                  written(*value), reason);
}

}  // namespace rollcall::reward
