// From how a process ended to a named outcome.
#pragma once

#include "sandbox/running.hpp"
#include "sandbox/wire.hpp"

namespace rollcall::sandbox {

constexpr int kOutOfMemory = 86, kOutOfTime = 87;  ///< exit statuses of fork_server.py after a
                                                   ///< MemoryError and SIGXCPU

/// Fills end, exit, counts and reason; output is there already. `forced`: what the worker ended it
/// for, or End::passed; `waiting`: what was known at its wall clock.
void settle(Outcome& outcome, const Request& request, End forced, const Waiting& waiting,
            const Ending& ending);
Outcome broken(Tier tier, std::string reason);

}  // namespace rollcall::sandbox
