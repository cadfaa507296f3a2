// Compares function calls with the requested ones, in the parts that ToolRL scores
// (arXiv:2504.13958): names, parameters, values.
#include "reward/exact_json.hpp"
#include "reward/reference.hpp"
#include "text/answer/answer_text.hpp"

#include <algorithm>
#include <map>

namespace rollcall::reward {
namespace {

struct Call {
  std::string name;
  Json arguments;  ///< an object
};
using Calls = std::vector<Call>;

std::optional<Json> parsed(std::string_view text) {
  std::string fault;
  Json json = parse_exact(text, fault);
  return fault.empty() ? std::optional(std::move(json)) : std::nullopt;
}

/// The calls in a list of {"name", "arguments"} or {"name", "parameters"}; nothing for any other
/// value.
std::optional<Calls> calls_of(const Json& list) {
  if (!list.is_array()) return std::nullopt;
  Calls calls;
  for (const Json& call : list) {
    if (!call.is_object() || call.size() != 2 || !call.contains("name")) return std::nullopt;
    const char* key = call.contains("arguments") ? "arguments" : "parameters";
    if (!call["name"].is_string() || !call.contains(key) || !call[key].is_object())
      return std::nullopt;
    calls.push_back({call["name"].get<std::string>(), call[key]});
  }
  return calls;
}

/// Calls as templates write them: a JSON list, one object, or objects between marks.
std::optional<Calls> read_calls(std::string_view said) {
  constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>";
  said = text::trim(said);
  if (!said.starts_with(kOpen)) {
    const auto json = parsed(said);
    if (!json) return std::nullopt;
    return calls_of(json->is_object() ? Json::array({*json}) : *json);
  }
  Json list = Json::array();
  while (!said.empty()) {
    const std::size_t end = said.find(kClose);
    if (!said.starts_with(kOpen) || end == std::string_view::npos) return std::nullopt;
    const auto call = parsed(said.substr(kOpen.size(), end - kOpen.size()));
    if (!call) return std::nullopt;
    list.push_back(*call);
    said = text::trim(said.substr(end + kClose.size()));
  }
  return calls_of(list);
}

/// The size of the intersection of two multisets divided by that of their union; 1 if both are
/// empty.
double overlap(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> counts;
  for (const auto& name : a) ++counts[name].first;
  for (const auto& name : b) ++counts[name].second;
  std::size_t both = 0, all = 0;
  for (const auto& [unused, count] : counts)
    both += std::min(count.first, count.second), all += std::max(count.first, count.second);
  return share(both, all);
}

std::vector<std::string> names_of(const Calls& calls) {
  std::vector<std::string> names;
  for (const Call& call : calls) names.push_back(call.name);
  return names;
}

std::vector<std::string> parameters_of(const Call& call) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : call.arguments.items()) names.push_back(name);
  return names;
}

/// The quality of a match between two calls with the same name.
struct Met {
  double parameters = 0;   ///< overlap of the parameters' names
  std::size_t values = 0;  ///< parameters with the value asked for
  double sum() const { return parameters + double(values); }
};

Met how_met(const Call& wanted, const Call& given) {
  Met met{overlap(parameters_of(wanted), parameters_of(given))};
  for (const auto& [name, value] : wanted.arguments.items())
    met.values += given.arguments.contains(name) && given.arguments.at(name) == value ? 1 : 0;
  return met;
}

/// Each requested call, in order, takes the best call with its name that no earlier one took.
std::vector<Met> matched(const Calls& wanted, const Calls& given) {
  std::vector<bool> used(given.size());
  std::vector<Met> all;
  for (const Call& call : wanted) {
    Met best;
    std::size_t taken = given.size();
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (used[i] || given[i].name != call.name) continue;
      const Met one = how_met(call, given[i]);
      if (taken == given.size() || one.sum() > best.sum()) best = one, taken = i;
    }
    if (taken < given.size()) used[taken] = true;
    all.push_back(best);
  }
  return all;
}

/// The calls as one string, which is the same for any order.
std::string tree_of(const Calls& calls) {
  std::vector<std::string> texts;
  for (const Call& call : calls)
    texts.push_back(written(Json{{"name", call.name}, {"arguments", call.arguments}}));
  std::sort(texts.begin(), texts.end());
  std::string all;
  for (const auto& text : texts) all += (all.empty() ? "" : ",") + text;
  return "[" + all + "]";
}

}  // namespace

Score judge_call_answer(const Prompt& prompt, const Response& response) {
  const Calls wanted = read_reference(
      prompt, R"({"calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}]})", [&](const Json&) {
        std::string read_already;
        auto calls = calls_of(parse_exact(prompt.answer, read_already).at("calls"));
        check_reference(calls.has_value(), "calls are no list of {\"name\", \"arguments\"}");
        return *calls;
      });
  const auto text = complete_answer(response);
  if (!text) return no_answer(6);
  const auto given = read_calls(*text);
  if (!given) return score_of({0, 0, 0, 0, 0, 0}, {}, "no calls can be read");
  const double names = overlap(names_of(wanted), names_of(*given));
  double parameters = 0;
  std::size_t values = 0, asked = 0;
  for (const Met& one : matched(wanted, *given)) parameters += one.parameters, values += one.values;
  for (const Call& call : wanted) asked += call.arguments.size();
  const auto calls = double(wanted.size());
  const bool correct = tree_of(wanted) == tree_of(*given);
  return score_of(
      {double(correct), 1.0, names, wanted.empty() ? 1.0 : parameters / calls, share(values, asked),
       (names + parameters + double(values)) / (1.0 + calls + double(asked))},
      tree_of(*given),
      names < 1.0 ? "other functions are called" : "arguments are not those asked for");
}

}  // namespace rollcall::reward
