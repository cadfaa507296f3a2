// The name of a prompt's row in task.file: its id, or else its line.
#pragma once

#include <string>

namespace rollcall::io {

struct RowName {
  std::string name{};    ///< the text or number under "id", else the line number; empty if the
                         ///< prompt comes from no row
  bool is_line = false;  ///< whether `name` is the number of a line, because the row has no id
  /// "row q17", "line 12"
  std::string text() const { return (is_line ? "line " : "row ") + name; }
};

/// Reads the name from `extra` as the archive stores it (ShardPrompt::extra).
RowName row_name(const std::string& extra);

}  // namespace rollcall::io
