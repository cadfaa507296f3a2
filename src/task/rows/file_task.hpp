// The task of files: questions and answers in file order, in three splits. Repeated questions are
// dropped.
#pragma once

#include "task/task.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace rollcall::task {

/// What became of the rows of a file.
struct FileTally {
  std::string path;
  std::string layout;  ///< row of the table of layouts, or "fields"
  std::size_t rows = 0, usable = 0;
};

/// What became of all rows: their number is that of the prompts of all splits and of the dropped.
struct RowTally {
  std::vector<FileTally> files;  ///< those of task.file in their order, then task.heldout_file
  /// Rows by why they are no prompt: bad_line, where, repeated, weight, asked_by_heldout, limit.
  std::map<std::string, std::size_t> dropped;
};

/// Reads the files that the section names. The prompt is the question and a line break, the
/// reference what the file's layout says (task/rows/layouts.hpp). Level: that of the row, or lines
/// of reasoning before the answer's marker. task.min_level, max_level and tail_exponent do not
/// apply.
/// Held-out prompts come from task.heldout_file, and task.file is then split in training and
/// validation without the questions found there; the same file twice is held out as a whole.
/// Without one all three splits come from task.file, by hashes of their content: with task.split
/// "exact" task.heldout_share of its rows is held out, rounded, but at least one of two; with
/// "by_row" each of the ten parts of the hashes' range goes to one split, whatever number of rows
/// that makes. Of files with weights the most rows are taken that have the weights' proportion:
/// those of each whose contents have the smallest hashes.
/// Throws ConfigError, InputError (a FaultList with lines).
PromptSet read_rows(const TaskSection& section, RowTally* tally = nullptr);

/// The prompts of all rows that can be read, of all files, where read_rows() refuses others.
/// Repeated questions are included. Throws ConfigError for a list of files that is wrong.
std::vector<Prompt> good_rows(const TaskSection& section);

}  // namespace rollcall::task
