// The files that task.file names: one, or a list with weights and conditions.
#pragma once

#include "base/text/json.hpp"
#include "core/run_config.hpp"

#include <string>
#include <vector>

namespace rollcall::task {

/// Only rows whose field has one of these values are read.
struct Condition {
  std::string field;  ///< dotted name
  std::vector<nlohmann::json> values;
};

struct RowFile {
  std::string path;
  double weight = 0.0;  ///< its share of the rows from all files; 0: all of its rows are used
  std::vector<Condition> where{};
};

/// The files of task.file in their order. Throws ConfigError for a list that is wrong.
std::vector<RowFile> row_files(const TaskSection& section);
/// Whether a row meets all conditions of its file. A number equals a string that spells it.
bool matches(const RowFile& file, const nlohmann::json& row);
/// Whether task.file is a list.
bool is_file_list(const TaskSection& section);
/// The paths of task.file, for messages.
std::string shown_files(const TaskSection& section);

}  // namespace rollcall::task
