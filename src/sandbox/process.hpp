// Runs commands and functions, each in its own process; in the first tier with its own pid
// namespace and /tmp.
#pragma once

#include "sandbox/outcome.hpp"
#include "sandbox/worker.hpp"

namespace rollcall::sandbox {

/// Runs a command or a function in its own process. `owner` is the socket to the process that asked
/// for the run; when its other end closes, the calling process ends.
Outcome run_process(const Request& request, const WorkerSetup& setup, int owner);

/// Empties the working folder of the second tier, which later runs share. Does nothing in the first
/// tier, where a run's /tmp ends with its namespace.
void tidy(const WorkerSetup& setup);

}  // namespace rollcall::sandbox
