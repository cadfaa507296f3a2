// Settings that the rows of task.file decide if the run file leaves them open: the place of the
// reference in a row, the verifier, and the number of rows for validation.
#pragma once

#include "core/run_config.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace rollcall::task {

inline constexpr const char* kAutoMarker = "auto";   ///< for task.answer_marker: the rows decide
inline constexpr const char* kExactSplit = "exact";  ///< for task.split: splits have exact sizes

/// Whether the task reads rows from files.
bool reads_rows(const TaskSection& task);

/// Replaces task.answer_marker = "auto" with what the rows imply: "####" if all answers contain it,
/// else nothing. It stays "auto" if some files contain it throughout and others do not at all; each
/// answer is then read as it is. If the run file chooses neither verifier nor command, it sets the
/// verifier that all rows have in common according to their layouts. Returns a sentence for the
/// log, empty if there was nothing to decide. Throws InputError, quoting two lines, if some rows of
/// a file contain the marker and others do not, or if no verifier fits all rows.
std::string settle_answers(TaskSection& task, RewardSection& reward);

/// Whether the rows decide task.validation_prompts, so that a run has to record the number. False
/// for a run that was started by an earlier build, which recorded no number (task.split "by_row").
bool follows_rows(const TaskSection& task);

/// If follows_rows() and the run never validates (`every`, which is eval.every, is 0), sets
/// task.validation_prompts to 0, so that all rows are for training. Returns a sentence about that
/// for the log, else an empty string.
std::string settle_validation(TaskSection& task, std::int64_t every);

/// reward.verifier or, if it is empty and no command judges, the verifier that fits the first rows
/// of the files, found without reading all rows. Empty: the task's own, or math.
std::string fitting_verifier(const TaskSection& task, const RewardSection& reward);

/// Number of rows in task.heldout_file or, if that is not set, number of rows in task.file that its
/// conditions choose. Includes repeated questions.
std::size_t row_count(const TaskSection& task);

}  // namespace rollcall::task
