// Files of one JSON object a line, with messages that name file and line.
#pragma once

#include "base/json.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace rollcall::task {

/// The place of one line.
struct Line {
  const std::string& file;
  std::size_t number;
  std::string_view text;
  /// Throws InputError.
  void require_that(bool ok, std::string_view problem, std::string_view why, std::string_view suggestion) const;
};

/// Calls `each` with the object on every line that is not blank. Throws InputError where one is no object.
void each_json_line(const std::string& file, const std::function<void(const nlohmann::json& object, const Line& line)>& each);

/// The text under `key`, which the setting of that name chose; a bare number counts as its digits, however many.
std::string text_at(const nlohmann::json& object, const std::string& key, std::string_view setting, const Line& line);

}  // namespace rollcall::task
