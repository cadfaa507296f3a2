// Finds a repeated key and words faults, apart from the parsers, which are templates.
#include "base/text/foreign_json.hpp"

#include <fmt/format.h>

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

std::string fault_of(const std::exception& exception) {
  const std::string_view said = exception.what();
  if (const auto* cut = dynamic_cast<const nlohmann::json::parse_error*>(&exception)) {
    if (said.find("unexpected end of input") == std::string_view::npos)
      return fmt::format("it is not JSON at byte {}", cut->byte);
    return cut->byte <= 1 ? "it is empty"
                          : fmt::format("its JSON is cut off after byte {}", cut->byte - 1);
  }
  const bool numbered = dynamic_cast<const nlohmann::json::exception*>(&exception) != nullptr;
  const std::size_t end = numbered ? said.find("] ") : std::string_view::npos;
  return std::string(end == std::string_view::npos ? said : said.substr(end + 2));
}

}  // namespace rollcall
