// The dimensions of a file and the form of a column. Columns are rows of the tables in schema.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rollcall::io {

/// The dimensions of a file. Each is a dimension scale in the table of its rows. Strings are stored
/// in the table `text` as UTF-8 bytes, with nothing between them.
enum class Dim : std::uint8_t {
  group,
  rollout,
  turn,
  token,
  prompt_byte,
  reference_byte,
  completion_byte,
  extracted_byte,
  component,
  reason_byte,
  shown_byte,
  extra_byte,
  kept,
  kept_id,
  start_byte,
  fact,
  fact_component,
  fact_reason_byte
};
inline constexpr std::size_t kDims = 18;
struct Dimension {
  const char *table, *name;
};
inline constexpr std::array<Dimension, kDims> kDimensions{{{"groups", "group"},
                                                           {"rollouts", "rollout"},
                                                           {"turns", "turn"},
                                                           {"tokens", "token"},
                                                           {"text", "prompt_byte"},
                                                           {"text", "reference_byte"},
                                                           {"text", "completion_byte"},
                                                           {"text", "extracted_byte"},
                                                           {"rollouts", "component"},
                                                           {"text", "reason_byte"},
                                                           {"text", "shown_byte"},
                                                           {"text", "extra_byte"},
                                                           {"kept", "kept"},
                                                           {"kept_ids", "kept_id"},
                                                           {"text", "start_byte"},
                                                           {"turn_facts", "fact"},
                                                           {"fact_components", "fact_component"},
                                                           {"text", "fact_reason_byte"}}};
inline constexpr std::size_t index(Dim d) { return std::size_t(d); }
using Extents = std::array<std::uint64_t, kDims>;  ///< length of each dimension; 0 if a file lacks
                                                   ///< it

/// One column. A column with `counts` says how many rows of that dimension belong to each of its
/// rows (CF "contiguous ragged array"). Files can therefore be concatenated column by column, and
/// the sum of a count column is the length of the dimension that it counts.
struct Column {
  const char *table, *name;
  Dim rows;
  const char *unit, *meaning;
  std::optional<Dim> counts = {};
  const char* flags = nullptr;  ///< names of the values 0, 1, ... of a coded column
  bool by_component = false;    ///< a matrix [rows, component]
  int since_minor = 0;          ///< files with earlier minor versions lack it and read as `absent`
  double absent = 0;
};
/// The name of a value in a coded column: word number `code` in `names`. Empty if it has none.
constexpr std::string_view code_name(std::string_view names, std::int64_t code) {
  for (; code > 0 && !names.empty(); --code) {
    const std::size_t space = names.find(' ');
    names.remove_prefix(space == std::string_view::npos ? names.size() : space + 1);
  }
  return code < 0 ? std::string_view() : names.substr(0, names.find(' '));
}
constexpr Column since(int minor, Column column, double absent) {
  column.since_minor = minor;
  column.absent = absent;
  return column;
}

}  // namespace rollcall::io
