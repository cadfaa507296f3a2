// A line of a user's program, which judges or plays an environment: one JSON object with the id of
// the request that it answers.
#pragma once

#include "base/text/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward {

struct JsonLine {
  nlohmann::json object{};
  std::string id{};     ///< empty if the line cannot be read at all
  std::string fault{};  ///< why the line cannot be used; empty if it can
};

/// The keys that a line may have. Another key is a fault, because a misspelt one would be missing
/// unseen.
struct LineKeys {
  std::vector<std::string> read{};    ///< keys that mean something
  std::vector<std::string> echoed{};  ///< further keys of the request: they may come back unread
};

/// `called`: the name of the line in messages, "reply". Any bytes are safe; never throws. A number
/// that is not finite is named, because Python's json writes NaN and Infinity, which JSON lacks. As
/// in rows of data, a repeated key in any of its objects is a fault, and so is a nesting that is
/// deeper than kJsonDepth.
JsonLine read_json_line(std::string_view line, std::string_view called, const LineKeys& keys);

/// The beginning of a line as a message can show it: printable ASCII and whole characters of valid
/// UTF-8, in quotation marks.
std::string shown_line(std::string_view line);

}  // namespace rollcall::reward
