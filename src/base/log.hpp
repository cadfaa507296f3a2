// The one log: lines to standard error with level, rank and stage; the user's table and progress
// bar go to standard output. Control characters of messages are shown as escapes
// (base/visible.hpp), and later lines of a message begin with a bar, so that no text of others acts
// on a terminal or forges a line.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace rollcall {

/// Called first in a process: lines before start_log go to standard error, too. spdlog's own
/// default is standard output.
void prepare_log();

/// Sets level ("debug", "info", "warn", "error") and the rank shown on every line. The first call of a process counts: ranks that are
/// threads share one log.
void start_log(const std::string& level, int rank, int ranks);

}  // namespace rollcall
