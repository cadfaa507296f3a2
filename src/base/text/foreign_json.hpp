// JSON from outside (model files, answers, references). Its depth is bounded, so that code that
// walks it cannot run out of stack, and a repeated key in an object is a fault.
#pragma once

#include "base/text/json.hpp"

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

namespace rollcall {

/// The deepest nesting that is read. Model files need 4, answers and their schemas a little more.
inline constexpr int kJsonDepth = 64;

/// The result of one pass over the characters, without parsing.
struct JsonOutline {
  std::size_t keys = 0;  ///< keys of all objects if it is JSON: the colons outside strings
  /// Brackets outside strings nest deeper than kJsonDepth; nothing after them is counted.
  bool too_deep = false;
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

/// Number of members of all objects in a value. It is below the number of keys in the text if a key
/// is repeated in an object, since the last one wins.
template <class Json>
std::size_t members_of(const Json& value) {
  if (!value.is_structured()) return 0;
  std::size_t members = value.is_object() ? value.size() : 0;
  for (const Json& part : value) members += members_of(part);
  return members;
}

/// A key that is repeated in an object of `text`, which is JSON; the last one if there are several.
/// Parses the text again, so it is meant for text that is known to have one.
std::string repeated_key(std::string_view text);

/// The fault of some text, according to the exception that it caused: "it is empty", "it is not
/// JSON at byte 7", or the message without the library's number, as in
/// "[json.exception.type_error.302] type must be string, but is number". The message of any other
/// exception is returned as it is.
std::string fault_of(const std::exception& exception);

/// The value in `text`. Text that is not JSON, nests too deeply or repeats a key in an object sets
/// `fault` ("it is not JSON"). Never throws.
template <class Json>
Json parse_foreign_value(std::string_view text, std::string& fault) {
  const JsonOutline outline = outline_of(text);
  if (outline.too_deep) {
    fault = "its brackets nest too deep";
    return {};
  }
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) fault = "it is not JSON";
  else if (members_of(json) != outline.keys) fault = '"' + repeated_key(text) + "\" stands twice";
  return json;
}

/// The object in `text`. Any other value sets `fault` ("it is not a JSON object"), and so does
/// anything that parse_foreign_value() refuses.
template <class Json>
Json parse_foreign(std::string_view text, std::string& fault) {
  Json json = parse_foreign_value<Json>(text, fault);
  if ((fault.empty() || json.is_discarded()) && !json.is_object())
    fault = "it is not a JSON object";
  return json;
}

}  // namespace rollcall
