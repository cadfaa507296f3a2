// Quotes and escapes by the rules of TOML 1.0.
#include "base/text/toml_values.hpp"

#include "base/text/joined.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

namespace rollcall {

std::string toml_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') (quoted += '\\') += c;
    else if (c == '\n') quoted += "\\n";
    else if (byte < 0x20 || byte == 0x7F) quoted += fmt::format("\\u{:04X}", byte);
    else quoted += c;
  }
  return quoted + '"';
}

std::string toml_number(double value) {
  // TOML spells inf, -inf and nan alike
  if (!std::isfinite(value)) return fmt::format("{}", value);
  std::string text = fmt::format("{}", value);  // shortest text that reads back to the same double
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string toml_key(const std::string& key) {
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) || c == '_' || c == '-');
  });
  return bare ? key : toml_string(key);
}

std::string toml_value(const nlohmann::json& value) {
  if (value.is_string()) return toml_string(value.get_ref<const std::string&>());
  if (value.is_number_float()) return toml_number(value.get<double>());
  if (!value.is_structured()) return value.dump();
  std::vector<std::string> parts;
  for (const auto& [key, part] : value.items())
    parts.push_back(value.is_object() ? fmt::format("{} = {}", toml_key(key), toml_value(part))
                                      : toml_value(part));
  return value.is_object() ? fmt::format("{{{}}}", joined(parts, ", "))
                           : fmt::format("[{}]", joined(parts, ", "));
}

}  // namespace rollcall
