// The one log: lines to standard error with level, rank and stage; the user's table and progress bar go to standard output.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace rollcall {

/// Sets level ("debug", "info", "warn", "error") and the rank shown on every line. Call once per process.
void start_log(const std::string& level, int rank, int ranks);

}  // namespace rollcall
