// Finds a repeated key, apart from the parsers, which are templates.
#include "base/text/foreign_json.hpp"

#include <set>
#include <vector>

namespace rollcall {

std::string repeated_key(std::string_view text) {
  using Json = nlohmann::json;
  std::vector<std::set<std::string>> keys;  // [depth] keys of the objects that are open
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  return Json::parse(text, watch, false).is_discarded() ? std::string() : twice;
}

}  // namespace rollcall
