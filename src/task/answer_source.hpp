// What the rows of task.file decide where the run file does not say: where a row's reference
// stands,
// who judges by it, and how many rows validate.
#pragma once

#include "core/run_config.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace rollcall::task {

inline constexpr const char* kAutoMarker = "auto";   ///< task.answer_marker: the rows decide
inline constexpr const char* kExactSplit = "exact";  ///< task.split

/// Puts what the rows come to in the place of task.answer_marker = "auto", by the table in
/// answer_source.cpp; a verifier that it names only where the run file chooses no judge. Returns a
/// sentence about it for the log; empty where there was nothing to decide. Throws InputError, with
/// two lines of the files, where some rows hold the marker and others do not.
std::string settle_answers(TaskSection& task, RewardSection& reward);

/// Whether task.validation_prompts is left to the rows, and their number is the run's to record.
/// Not of a run that an earlier build began, which recorded no number (task.split "by_row").
bool follows_rows(const TaskSection& task);

/// Where that is so and nothing ever validates (`every`: eval.every), all rows train. Returns a
/// sentence about it for the log.
std::string settle_validation(TaskSection& task, std::int64_t every);

/// Rows of such a file, repeated questions included.
std::size_t row_count(const std::string& file);

}  // namespace rollcall::task
