// Values as JSON within a script. Whatever a model or a prompt contains stays a string.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace rollcall::view {

/// Adds a quoted string. Besides what JSON requires, `<`, `>`, `&`, U+2028 and U+2029 are escaped,
/// so that the text cannot end a script element or a line. A byte that is not part of valid UTF-8
/// is shown as four characters, such as \xE2.
void add_string(std::string& out, std::string_view text);
std::string json_string(std::string_view text);

void add_integer(std::string& out, std::int64_t value);
/// Adds a number with `digits` significant digits; null if it is not finite.
void add_number(std::string& out, double value, int digits = 6);
/// Adds 1000 times the value as an integer, which is half the length of a decimal fraction; null if
/// it is not finite.
void add_milli(std::string& out, double value);

/// Whether the whole text is valid UTF-8.
bool is_utf8(std::string_view text);
/// The longest prefix of a text that is at most `bytes` long and ends with a whole character.
std::string_view beginning(std::string_view text, std::size_t bytes);

/// Adds `[` values `]`; add(out, value) writes each value.
template <class Values, class Add>
void add_list(std::string& out, const Values& values, const Add& add) {
  out += '[';
  bool first = true;
  for (const auto& value : values) {
    if (!first) out += ',';
    first = false;
    add(out, value);
  }
  out += ']';
}

/// The text of a data file: one call that passes a value to the page under the name of the file.
std::string call(std::string_view name, std::string_view json);

}  // namespace rollcall::view
