// A line of `rollcall score`: a response with its question and reference, and the verdict on it.
#pragma once

#include "core/rollout.hpp"
#include "reward/verifier.hpp"

#include <cstddef>
#include <string>

namespace rollcall::app {

struct ScoreLine {
  std::size_t number;  ///< number of the line in its input, from 1
  std::string text;
};

/// A response and its question, as read from a line.
struct Answered {
  Prompt prompt;
  std::string response, extra;  ///< `extra` is a JSON object for a command, as a run passes a
                                ///< row to it; empty if there is none
};

/// Reads a line of `file`. Throws InputError that names the line and the missing parts.
Answered answered(const ScoreLine& line, const std::string& file);

/// The line of output with the verdict: a JSON object with verdict, score, reason and extracted.
/// Throws InputError like answered(), and also if the verifier cannot use the reference.
std::string score_line(const reward::Grader& judge, const ScoreLine& line, const std::string& file);

/// Writes whole lines to standard output at once. Returns false if their reader has gone away.
/// Throws StorageError.
bool write_verdicts(const std::string& lines);

}  // namespace rollcall::app
