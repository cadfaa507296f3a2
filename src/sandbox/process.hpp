// Commands and functions: each run is a process of its own, in the first tier with a pid namespace
// and a /tmp of its own.
#pragma once

#include "sandbox/outcome.hpp"
#include "sandbox/worker.hpp"

namespace rollcall::sandbox {

/// `owner`: when it hangs up, the calling process ends.
Outcome run_process(const Request& request, const WorkerSetup& setup, int owner);

/// Ends and buries every child that is left, and empties the working folder of the second tier,
/// where nothing else does.
void tidy(const WorkerSetup& setup);

}  // namespace rollcall::sandbox
