// Fields of a row by dotted name, which reaches into objects and into strings that hold JSON
// objects.
#pragma once

#include "base/text/json.hpp"
#include "task/json_lines.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::task {

/// The value of a field; null if the row has none. "a.b" is the key of that name, or the member b
/// of a, which may be an object or the JSON text of one, as in files with one type per column.
/// "a|b" is a, or b if a is missing or null.
nlohmann::json field_of(const nlohmann::json& row, std::string_view name);
/// The first of the alternatives of a name that the row has; the first alternative if it has none.
std::string_view present_name(const nlohmann::json& row, std::string_view names);

/// A field as a string; a number becomes its digits. `setting`, for the message, is the setting
/// that chooses the field. Throws InputError.
std::string text_of_field(const nlohmann::json& row, std::string_view names,
                          std::string_view setting, const Line& line);
/// The strings and numbers in a list, as strings. Throws InputError, naming `what`, for other
/// items.
std::vector<std::string> texts_of(const nlohmann::json& list, std::string_view what,
                                  const Line& line);
/// A number as its digits; any other value as JSON.
std::string number_text(const nlohmann::json& number);

}  // namespace rollcall::task
