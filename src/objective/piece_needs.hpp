// The needs of the chosen pieces besides a step's usual columns: optional columns, the output of
// the value head, and micro-batches that hold whole groups.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::objective {

/// Pieces state their needs while they are made. Whether an optional column is needed may depend on
/// settings, so it is asked for after all settings are made.
class PieceNeeds {
 public:
  /// Needs that are stated after this call belong to this piece.
  void enter(std::string_view family, std::string_view piece);

  /// The piece reads this column (StepColumns::named) with any settings.
  void column(std::string name);
  /// The piece reads the column if needed() is true once all settings are made.
  void column(std::function<bool()> needed, std::string name);
  /// The piece reads one column, whose name depends on a setting.
  void column(std::function<std::string()> name);
  /// The piece reads columns that a setting names.
  void columns(std::function<std::vector<std::string>()> names);

  bool value_head = false;  ///< a piece reads MicroBatchTensors::value, so the value head must run
  bool whole_groups = false;  ///< a piece couples the rollouts of a group under the current policy,
                              ///< so a micro-batch must hold all of them

  /// Columns that some piece needs, each once, in the order in which they were stated.
  std::vector<std::string> column_names() const;
  using OfPiece = std::function<bool(std::string_view family, std::string_view piece)>;
  /// Whether a piece that is not `left_out` needs the column.
  bool names(const std::string& column, const OfPiece& left_out) const;
  /// Columns that one piece needs.
  std::vector<std::string> column_names(std::string_view family, std::string_view piece) const;

 private:
  struct Columns {
    std::string family, piece;
    std::function<std::vector<std::string>()> names;
  };
  std::string family_, piece_;
  std::vector<Columns> columns_;
};

}  // namespace rollcall::objective
