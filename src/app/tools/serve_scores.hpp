// `rollcall score --serve`: a verifier as a server on standard input and output.
#pragma once

#include "app/command_line.hpp"
#include "reward/verifier.hpp"

#include <cstddef>

namespace rollcall::app {

/// Reads JSON lines from standard input until it ends, and writes one line for each of them to
/// standard output, in order and at once: the verdict, or {"error": "..."} if the line cannot be
/// judged. Lines that have arrived together are judged by up to `threads` threads. Returns done,
/// even if the reader of the answers has gone away. Throws InputError if standard input cannot be
/// read, and StorageError if an answer cannot be written.
ExitCode serve_scores(const reward::Grader& judge, std::size_t threads);

}  // namespace rollcall::app
