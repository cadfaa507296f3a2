// Reads the two keys that task/rows/row_reading.cpp writes.
#include "io/row_name.hpp"

#include "base/text/json.hpp"

namespace rollcall::io {

RowName row_name(const std::string& extra) {
  using Json = nlohmann::json;
  if (extra.empty()) return {};
  const Json row = Json::parse(extra, nullptr, false);
  if (!row.is_object()) return {};
  const auto text_of = [](const Json& value) {
    return value.is_string() ? value.get<std::string>()
                             : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  if (const auto id = row.find("id"); id != row.end()) return {text_of(*id)};
  const auto line = row.find("line");
  return line == row.end() ? RowName{} : RowName{text_of(*line), true};
}

}  // namespace rollcall::io
