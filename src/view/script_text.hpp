// Values as JSON that may stand in a script: whatever a model or a prompt wrote, it stays a string.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace rollcall::view {

/// A quoted string. `<`, `>`, `&`, U+2028 and U+2029 are escaped besides what JSON asks for, so
/// that it can end no script element and no line. A byte that is no part of whole UTF-8 is shown as
/// \xE2, in four characters.
void add_string(std::string& out, std::string_view text);
std::string json_string(std::string_view text);

void add_integer(std::string& out, std::int64_t value);
/// significant digits; null where it is not finite
void add_number(std::string& out, double value, int digits = 6);
/// In thousandths, as an integer: half the size of a decimal fraction. null where it is not finite.
void add_milli(std::string& out, double value);

/// Whether all of it is whole UTF-8.
bool is_utf8(std::string_view text);
/// The first characters of a text, in at most so many bytes, whole ones.
std::string_view beginning(std::string_view text, std::size_t bytes);

/// `[` values `]`: add(out, value) writes each.
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

/// The text of a file: one call that hands a value to the page under the file's name.
std::string call(std::string_view name, std::string_view json);

}  // namespace rollcall::view
