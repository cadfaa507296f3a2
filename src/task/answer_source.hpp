// Settings that the rows of task.file decide if the run file leaves them open: where a row has its
// reference, which verifier judges it, and how many rows are for validation.
#pragma once

#include "core/run_config.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace rollcall::task {

inline constexpr const char* kAutoMarker = "auto";   ///< task.answer_marker: the rows decide
inline constexpr const char* kExactSplit = "exact";  ///< task.split: splits of exact sizes

/// Replaces task.answer_marker = "auto" by what the rows imply, by the table in answer_source.cpp.
/// It sets the verifier that the table names only if the run file chooses neither verifier nor
/// command. Returns a sentence about it for the log, empty if there was nothing to decide. Throws
/// InputError, quoting two lines, if some rows contain the marker and others do not.
std::string settle_answers(TaskSection& task, RewardSection& reward);

/// Whether the rows decide task.validation_prompts, so that a run has to record the number. False
/// for a run that an earlier build began, which recorded no number (task.split "by_row").
bool follows_rows(const TaskSection& task);

/// If follows_rows() and the run never validates (`every`, which is eval.every, is 0), sets
/// task.validation_prompts to 0, so that all rows are for training. Returns a sentence about that
/// for the log, else an empty text.
std::string settle_validation(TaskSection& task, std::int64_t every);

/// Number of rows of a file of questions, repeated questions included.
std::size_t row_count(const std::string& file);

}  // namespace rollcall::task
