// Fields of a row by dotted names, which reach into objects and into texts that are JSON objects.
#pragma once

#include "base/text/json.hpp"
#include "task/json_lines.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::task {

/// The value of a field, null where the row has none. "a.b" is the key of that name, or the member
/// b of a, which may be an object or the JSON text of one, as files with one type a column have it.
/// "a|b" is a, or b where a is missing or null.
nlohmann::json field_of(const nlohmann::json& row, std::string_view name);
/// The first of the alternatives of a name that the row has; the first one where it has none.
std::string_view present_name(const nlohmann::json& row, std::string_view names);

/// The text of a field; a number counts as its digits. `setting` chooses the field, for the
/// message. Throws InputError.
std::string text_of_field(const nlohmann::json& row, std::string_view names,
                          std::string_view setting, const Line& line);
/// Texts and numbers of a list as texts. Throws InputError, which names `what`, for other items.
std::vector<std::string> texts_of(const nlohmann::json& list, std::string_view what,
                                  const Line& line);
/// A number as its digits; any other value as JSON.
std::string number_text(const nlohmann::json& number);

}  // namespace rollcall::task
