// Values and keys as TOML spells them, on one line each.
#pragma once

#include "base/text/json.hpp"

#include <string>
#include <string_view>

namespace rollcall {

/// A string on one line. toml++ would print a lone line break as a multi-line literal, which reads
/// back as an empty string.
std::string toml_string(std::string_view text);
/// The shortest text that reads back to the same double and is a TOML float.
std::string toml_number(double value);
/// A key: bare if possible, else in quotes.
std::string toml_key(const std::string& key);
/// A JSON value. `value` holds no null, which TOML does not have.
std::string toml_value(const nlohmann::json& value);

}  // namespace rollcall
