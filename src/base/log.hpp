// The one log: lines to standard error with level, rank and stage; the user's table and progress bar go to standard output.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace rollcall {

/// Sets level ("debug", "info", "warn", "error") and the rank shown on every line. The first call of a process counts: ranks that are
/// threads share one log.
void start_log(const std::string& level, int rank, int ranks);

}  // namespace rollcall
