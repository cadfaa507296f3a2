// Where the reference of a row of task.file stands, and who judges by it where the run file does
// not say.
#pragma once

#include "core/run_config.hpp"

#include <cstddef>
#include <string>

namespace rollcall::task {

inline constexpr const char* kAutoMarker = "auto";  ///< task.answer_marker: the rows decide

/// Puts what the rows come to in the place of task.answer_marker = "auto", by the table in
/// answer_source.cpp; a verifier that it names only where the run file chooses no judge. Returns a
/// sentence about it for the log; empty where there was nothing to decide. Throws InputError, with
/// two lines of the files, where some rows hold the marker and others do not.
std::string settle_answers(TaskSection& task, RewardSection& reward);

/// Rows of such a file, repeated questions included.
std::size_t row_count(const std::string& file);

}  // namespace rollcall::task
