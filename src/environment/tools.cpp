// The table of tools, and their functions.
#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "environment/tool.hpp"
#include "reward/expression.hpp"
#include "sandbox/sandbox.hpp"
#include "text/tokenizer/text_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

namespace rollcall::environment {
namespace {

using nlohmann::json;

/// The text that is the only argument of a call; otherwise `fault` says why there is none.
std::optional<std::string> only_text(std::string_view arguments, const char* name,
                                     std::string& fault) {
  const json object = parse_foreign<json>(arguments, fault);
  if (!fault.empty()) {
    fault = "The arguments cannot be read: " + fault + ".";
    return std::nullopt;
  }
  if (object.size() != 1 || !object.contains(name) || !object[name].is_string()) {
    fault = fmt::format("The arguments must be {{\"{}\": a text}} and nothing else.", name);
    return std::nullopt;
  }
  return object[name].get<std::string>();
}

constexpr const char* kCalculator =
    R"({"type":"function","function":{"name":"calculator","description":"Computes an expression of whole numbers with + - * / and parentheses. The result is exact: a whole number or a fraction.",)"
    R"("parameters":{"type":"object","properties":{"expression":{"type":"string","description":"For example (12+30)*7"}},"required":["expression"]}}})";

ToolResult calculate(std::string_view arguments, std::string_view) {
  std::string fault;
  const auto expression = only_text(arguments, "expression", fault);
  if (!expression) return {fault, true};
  const auto value = reward::parse_expression(*expression);
  if (!value)
    return {
        "This is no expression of whole numbers with + - * / and parentheses, or it has no "
        "exact value within 64 bits.",
        true};
  return {value->value.text()};
}

constexpr const char* kSearch =
    R"({"type":"function","function":{"name":"search","description":"Finds the lines that share the most words with a query.",)"
    R"("parameters":{"type":"object","properties":{"query":{"type":"string","description":"Words to look for"}},"required":["query"]}}})";
constexpr std::size_t kLinesFound = 3;

/// The words of a text: runs of ASCII letters and digits, in small letters, and of other bytes
/// beyond ASCII.
std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c >= 'A' && c <= 'Z') word += char(c - 'A' + 'a');
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || byte >= 0x80) word += c;
    else if (!word.empty()) words.insert(std::exchange(word, {}));
  }
  if (!word.empty()) words.insert(word);
  return words;
}

ToolResult find_lines(std::string_view arguments, std::string_view index) {
  std::string fault;
  const auto query = only_text(arguments, "query", fault);
  if (!query) return {fault, true};
  const std::set<std::string> wanted = words_of(*query);
  std::vector<std::pair<std::size_t, std::string_view>> found;  // words shared, line
  while (!index.empty()) {
    const std::size_t end = std::min(index.find('\n'), index.size());
    const std::string_view line = index.substr(0, end);
    index.remove_prefix(std::min(end + 1, index.size()));
    std::size_t shared = 0;
    for (const std::string& word : words_of(line)) shared += wanted.contains(word) ? 1 : 0;
    if (shared > 0) found.emplace_back(shared, line);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kLinesFound, found.size()); ++i)
    text.append(i == 0 ? "" : "\n").append(found[i].second);
  return {text.empty() ? "No line has any of these words." : text};
}

constexpr const char* kPython =
    R"({"type":"function","function":{"name":"python","description":"Runs a Python program without network and returns what it prints.",)"
    R"("parameters":{"type":"object","properties":{"code":{"type":"string","description":"The program; it must print its results"}},"required":["code"]}}})";
constexpr std::size_t kShownErrors = 400;  // bytes at the end of standard error

/// A text without the line feeds at its end.
std::string_view without_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

std::string_view last_bytes(std::string_view text, std::size_t count) {
  return text.substr(text.size() - std::min(text.size(), count));
}

ToolResult run_python(std::string_view arguments, std::string_view) {
  using sandbox::End;
  std::string fault;
  const auto code = only_text(arguments, "code", fault);
  if (!code) return {fault, true};
  const sandbox::Sandbox* sandbox = sandbox::started();
  if (sandbox == nullptr) return {.text = "the sandbox was not started", .lost = true};
  const sandbox::Outcome outcome = sandbox->run(sandbox::python(*code));
  if (outcome.end == End::sandbox_error || outcome.starved)
    return {.text = "the sandbox failed: " + outcome.reason, .lost = true};
  std::string text(without_end(outcome.out));
  const auto say = [&text](std::string_view more) {
    if (!more.empty()) text.append(text.empty() ? "" : "\n").append(more);
  };
  say(last_bytes(without_end(outcome.err), kShownErrors));
  if (outcome.end != End::passed && outcome.end != End::failed)
    say(fmt::format("The program was ended: {}.", outcome.reason.empty()
                                                      ? sandbox::name_of(outcome.end)
                                                      : outcome.reason.c_str()));
  if (text.empty()) text = "The program printed nothing.";
  return {text::valid_utf8(text), outcome.end != End::passed};
}

constexpr std::array kTools = {
    ToolRow{"calculator", kCalculator, false, false, calculate},
    ToolRow{"search", kSearch, true, false, find_lines},  // it reads the whole index
    ToolRow{"python", kPython, true, true, run_python},
};

}  // namespace

const ToolRow& find_tool(const std::string& name) {
  const auto row = std::find_if(kTools.begin(), kTools.end(),
                                [&](const ToolRow& tool) { return tool.name == name; });
  if (row == kTools.end()) {
    std::vector<std::string> names;
    for (const ToolRow& tool : kTools) names.emplace_back(tool.name);
    throw ConfigError(
        error_message(fmt::format("environment.tools has \"{}\", which is unknown", name),
                      "the policy could not call it", suggest_name(name, names)));
  }
  return *row;
}

}  // namespace rollcall::environment
