// JSON that others wrote (files of models, answers, references). Bounded in depth, so that nothing
// that walks it can run out of stack; a key that stands twice is a fault.
#pragma once

#include "base/json.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace rollcall {

inline constexpr int kJsonDepth = 64;  ///< files of models need 4, answers and their schemas a few
                                       ///< more

/// What a pass over the characters tells, before or beside the reader's own.
struct JsonOutline {
  std::size_t keys = 0;   ///< of all its objects, where it is JSON: as many as there are colons
                          ///< outside strings
  bool too_deep = false;  ///< brackets outside strings nest deeper than kJsonDepth; nothing behind
                          ///< is counted
};
inline JsonOutline outline_of(std::string_view text) {
  JsonOutline outline;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size() && !outline.too_deep; ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    else if (c == '"') quoted = !quoted;
    else if (quoted) continue;
    else if (c == ':') ++outline.keys;
    else if (c == '{' || c == '[') outline.too_deep = ++depth > kJsonDepth;
    else if (c == '}' || c == ']') --depth;
  }
  return outline;
}

/// Members of all objects in a value: fewer than the keys of its text where one stands twice, as
/// the last one wins then.
template <class Json>
std::size_t members_of(const Json& value) {
  if (!value.is_structured()) return 0;
  std::size_t members = value.is_object() ? value.size() : 0;
  for (const Json& part : value) members += members_of(part);
  return members;
}

/// The key that stands twice in an object of a text, which is JSON; the last of several. It reads
/// the text again, so it is for those of which it is known.
std::string repeated_key(std::string_view text);

/// What a reader's exception says, without the library's number of it:
/// "[json.exception.type_error.302] type must be string, but is number".
inline std::string fault_of(const nlohmann::json::exception& exception) {
  const std::string_view said = exception.what();
  const std::size_t end = said.find("] ");
  return std::string(end == std::string_view::npos ? said : said.substr(end + 2));
}

/// The value in `text`; any other text leaves a `fault` ("it is not JSON"). Never throws.
template <class Json>
Json parse_foreign_value(std::string_view text, std::string& fault) {
  const JsonOutline outline = outline_of(text);
  if (outline.too_deep) {
    fault = "its brackets nest too deep";
    return {};
  }
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) fault = "it is not JSON";
  else if (members_of(json) != outline.keys) fault = "\"" + repeated_key(text) + "\" stands twice";
  return json;
}

/// The object in `text`; anything else leaves a `fault` ("it is not a JSON object").
template <class Json>
Json parse_foreign(std::string_view text, std::string& fault) {
  Json json = parse_foreign_value<Json>(text, fault);
  if ((fault.empty() || json.is_discarded()) && !json.is_object())
    fault = "it is not a JSON object";
  return json;
}

}  // namespace rollcall
