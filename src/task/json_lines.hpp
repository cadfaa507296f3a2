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
  void require_that(bool ok, std::string_view problem, std::string_view why,
                    std::string_view suggestion) const;
};

using EachLine = std::function<void(const nlohmann::json& object, const Line& line)>;

/// Calls `each` with the object on every line that is not blank. Throws one InputError for all
/// lines
/// that are no object, have a key twice, or that `each` refuses (a FaultList); a mistake that many
/// lines have is one.
void each_json_line(const std::string& file, const EachLine& each);

/// The same without the lines that each_json_line() would refuse: whoever reads all of them says
/// so.
void each_whole_json_line(const std::string& file, const EachLine& each);

/// Throws InputError, with the keys that the line has, where `key` is not among them.
void require_key(const nlohmann::json& object, const std::string& key, const Line& line,
                 std::string_view why, std::string_view suggestion);

/// The text under `key`, which the setting of that name chose; a bare number counts as its digits,
/// however many.
std::string text_at(const nlohmann::json& object, const std::string& key, std::string_view setting,
                    const Line& line);

}  // namespace rollcall::task
