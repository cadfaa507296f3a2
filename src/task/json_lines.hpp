// Reads files with one JSON object per line, or with one JSON array of objects. Messages name file
// and line.
#pragma once

#include "base/text/json.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace rollcall::task {

/// One line of a file, or one element of its array, and the place that messages name.
struct Line {
  const std::string& file;
  std::size_t number;  ///< number of the line or the element, counted from 1
  std::string_view text;
  /// Throws InputError.
  void require_that(bool ok, std::string_view problem, std::string_view why,
                    std::string_view suggestion) const;
};

using EachLine = std::function<void(const nlohmann::json& object, const Line& line)>;

/// Calls `each` with the object on every line that is not blank. Throws one InputError (a
/// FaultList) for all lines that are not objects, that repeat a key, or that `each` refuses; a
/// mistake found in many lines is reported once.
void each_json_line(const std::string& file, const EachLine& each);

/// Like each_json_line(), but skips lines that each_json_line() would refuse; those are reported by
/// the function that reads the rows.
void each_whole_json_line(const std::string& file, const EachLine& each);

/// Calls `each` with the objects at the beginning of a file, a few megabytes and a hundred rows at
/// most, until it returns false. Skips anything that is not an object. Throws InputError for a file
/// that is missing or of another kind.
void each_first_row(const std::string& file,
                    const std::function<bool(const nlohmann::json& object)>& each);

/// The lines that each_json_line() would refuse.
struct DroppedLines {
  std::size_t count = 0;
  std::string first{};  ///< what is wrong with the first of them
};
/// Like each_json_line(), but drops such lines and counts them.
DroppedLines each_good_line(const std::string& file, const EachLine& each);

/// Throws InputError, listing the line's keys, if `key` is not among them.
void require_key(const nlohmann::json& object, const std::string& key, const Line& line,
                 std::string_view why, std::string_view suggestion);

/// The string under `key`, a key chosen by the setting `setting`. A bare number counts as its
/// digits, with no limit on their number.
std::string text_at(const nlohmann::json& object, const std::string& key, std::string_view setting,
                    const Line& line);

}  // namespace rollcall::task
