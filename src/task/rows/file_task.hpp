// The file task: questions and answers in file order, in three splits. Repeated questions are
// dropped.
#pragma once

#include "task/task.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace rollcall::task {

/// The outcome of reading the rows of a file.
struct FileTally {
  std::string path;
  std::string layout;  ///< row of the table of layouts, or "fields"
  std::size_t rows = 0, usable = 0;
};

/// The outcome of reading all rows. Their number is the number of prompts in all splits plus the
/// number of dropped rows.
struct RowTally {
  std::vector<FileTally> files;  ///< those of task.file in their order, then task.heldout_file
  /// Numbers of rows by the reason why they became no prompt: bad_line, where, repeated, weight,
  /// asked_by_heldout, limit.
  std::map<std::string, std::size_t> dropped;
};

/// Reads the files that the section names. The prompt is the question and a line break; the
/// reference is what the file's layout says (task/rows/layouts.hpp). The level is that in the row,
/// or the number of lines of reasoning before the answer's marker. task.min_level, max_level and
/// tail_exponent do not apply.
/// Held-out prompts come from task.heldout_file, and task.file is then split into training and
/// validation without the questions found there; a file named twice is held out as a whole. Without
/// a held-out file, all three splits come from task.file, by hashes of their content: with
/// task.split "exact", the fraction task.heldout_share of its rows is held out, rounded, but at
/// least one of two; with "by_row" each of the ten parts of the hashes' range goes to one split,
/// however many rows that is. From files with weights, the most rows are taken that keep the
/// weights' proportions: from each file, those whose contents have the smallest hashes.
/// Throws ConfigError, InputError (a FaultList with lines).
PromptSet read_rows(const TaskSection& section, RowTally* tally = nullptr);

/// The prompts of all readable rows in all files, even if read_rows() refuses other rows. Repeated
/// questions are included. Throws ConfigError for a list of files that is wrong.
std::vector<Prompt> good_rows(const TaskSection& section);

}  // namespace rollcall::task
