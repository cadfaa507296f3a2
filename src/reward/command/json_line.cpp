// The parser refuses a line as a whole; what was not finite in it is looked for afterwards.
#include "reward/command/json_line.hpp"

#include "base/errors/nearest.hpp"
#include "base/text/foreign_json.hpp"
#include "text/answer/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace rollcall::reward {
namespace {

using nlohmann::json;
constexpr std::size_t kShown = 80;        // bytes of a bad line that a message shows
constexpr std::size_t kLongestWord = 32;  // bytes; longer words are no number that is looked for

bool is_of_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '-' || c == '.';
}

/// The first word outside strings that is a number and not finite, as in NaN, -Infinity or 1e999;
/// empty if there is none.
std::string not_finite(std::string_view line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '\\') ++i;
    else if (line[i] == '"') quoted = !quoted;
    else if (quoted || !is_of_word(line[i])) continue;
    else {
      const std::size_t first = i;
      while (i + 1 < line.size() && is_of_word(line[i + 1])) ++i;
      const std::string word(line.substr(first, i + 1 - first));
      if (word.size() > kLongestWord) continue;
      char* end = nullptr;
      const double value = std::strtod(word.c_str(), &end);
      if (end == word.c_str() + word.size() && !std::isfinite(value)) return word;
    }
  }
  return {};
}

/// What is wrong with the keys of an object; empty if nothing is.
std::string unknown_key(const json& object, const LineKeys& keys) {
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& [name, value] : object.items())
    if (!has(keys.read, name) && !has(keys.echoed, name))
      return fmt::format("it has the key {}, which is not read; {}", shown_line(name),
                         suggest_name(text::cut(name, kShown), keys.read));
  return {};
}

}  // namespace

std::string shown_line(std::string_view line) {
  return json(text::cut(line, kShown)).dump(-1, ' ', false, json::error_handler_t::replace);
}

JsonLine read_json_line(std::string_view line, std::string_view called, const LineKeys& keys) {
  const JsonOutline outline = outline_of(line);
  if (outline.too_deep)
    return {.fault = fmt::format("its {} has more than {} lists or objects within each other: {}",
                                 called, kJsonDepth, shown_line(line))};
  JsonLine read{.object = json::parse(line, nullptr, false)};
  if (read.object.is_discarded()) {
    if (const std::string word = not_finite(line); !word.empty()) {
      read.fault = fmt::format("its {} holds {}, and numbers of JSON are finite: {}", called, word,
                               shown_line(line));
      return read;
    }
  }
  if (!read.object.is_object()) {
    read.fault = fmt::format("its {} is not a JSON object: {}", called, shown_line(line));
    return read;
  }
  if (members_of(read.object) != outline.keys) {
    read.fault = fmt::format("its {} has the key {} twice, and only one of the two would count: {}",
                             called, shown_line(repeated_key(line)), shown_line(line));
    return read;
  }
  const auto id = read.object.find("id");
  if (id == read.object.end() || !id->is_string()) {
    read.fault = fmt::format("its {} has no \"id\" that is a text: {}", called, shown_line(line));
    return read;
  }
  read.id = id->get<std::string>();
  if (const std::string wrong = unknown_key(read.object, keys); !wrong.empty())
    read.fault = fmt::format("its {} cannot be used: {}", called, wrong);
  return read;
}

}  // namespace rollcall::reward
