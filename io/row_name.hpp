// What a prompt's row of task.file is called: by its id, else by its line.
#pragma once

#include <string>

namespace rollcall::io {

struct RowName {
  std::string name{};    ///< the text or number under "id", else the number of the line; empty: the
                         ///< prompt is of no row
  bool is_line = false;  ///< the row has no id
  /// "row q17", "line 12"
  std::string text() const { return (is_line ? "line " : "row ") + name; }
};

/// Of `extra` as the archive keeps it (ShardPrompt::extra).
RowName row_name(const std::string& extra);

}  // namespace rollcall::io
