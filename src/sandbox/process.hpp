// Runs commands and functions, each as a process of its own; in the first tier with its own pid
// namespace and /tmp.
#pragma once

#include "sandbox/outcome.hpp"
#include "sandbox/worker.hpp"

namespace rollcall::sandbox {

/// `owner` is a socket; when its other end closes, the calling process ends.
Outcome run_process(const Request& request, const WorkerSetup& setup, int owner);

/// Kills and reaps every child that is left, and empties the working folder of the second tier,
/// which nothing else does.
void tidy(const WorkerSetup& setup);

}  // namespace rollcall::sandbox
