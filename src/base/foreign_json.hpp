// JSON that others wrote (files of models, answers, references). Bounded in depth, so that nothing that walks it can run out of stack; a key that stands
// twice is a fault.
#pragma once

#include "base/json.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

inline constexpr int kJsonDepth = 64;  ///< files of models need 4, answers and their schemas a few more

/// Whether brackets outside strings nest deeper than kJsonDepth.
inline bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    else if (c == '"') quoted = !quoted;
    else if (!quoted && (c == '{' || c == '[') && ++depth > kJsonDepth) return true;
    else if (!quoted && (c == '}' || c == ']')) --depth;
  }
  return false;
}

/// What a reader's exception says, without the library's number of it: "[json.exception.type_error.302] type must be string, but is number".
inline std::string fault_of(const nlohmann::json::exception& exception) {
  const std::string_view said = exception.what();
  const std::size_t end = said.find("] ");
  return std::string(end == std::string_view::npos ? said : said.substr(end + 2));
}

/// The value in `text`; any other text leaves a `fault` ("it is not JSON"). Never throws.
template <class Json>
Json parse_foreign_value(std::string_view text, std::string& fault) {
  if (is_too_deep(text)) {
    fault = "its brackets nest too deep";
    return {};
  }
  std::vector<std::set<std::string>> keys;  // [depth] of the objects that are open
  std::string twice;
  const auto watch = [&](int, typename Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.template get<std::string>()).second) twice = value.template get<std::string>();
    return true;
  };
  Json json = Json::parse(text, watch, false);
  if (json.is_discarded()) fault = "it is not JSON";
  else if (!twice.empty()) fault = "\"" + twice + "\" stands twice";
  return json;
}

/// The object in `text`; anything else leaves a `fault` ("it is not a JSON object").
template <class Json>
Json parse_foreign(std::string_view text, std::string& fault) {
  Json json = parse_foreign_value<Json>(text, fault);
  if ((fault.empty() || json.is_discarded()) && !json.is_object()) fault = "it is not a JSON object";
  return json;
}

}  // namespace rollcall
