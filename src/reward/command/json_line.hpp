// A line of a user's program, which judges or plays an environment: one JSON object with the id of
// the request that it answers.
#pragma once

#include "base/text/json.hpp"

#include <string>
#include <string_view>

namespace rollcall::reward {

struct JsonLine {
  nlohmann::json object{};
  std::string id{};
  std::string fault{};  ///< the reason why the line cannot be read; empty if it was read, and `id`
                        ///< is its "id"
};

/// `called`: the name of the line in messages, "reply". Any bytes are safe; never throws. A number
/// that is not finite is named, because Python's json writes NaN and Infinity, which JSON lacks.
JsonLine read_json_line(std::string_view line, std::string_view called);

/// The beginning of a line as a message can show it: printable ASCII and whole characters of valid
/// UTF-8, in quotation marks.
std::string shown_line(std::string_view line);

}  // namespace rollcall::reward
