// Turns the way a process ended into a named outcome.
#pragma once

#include "sandbox/running.hpp"
#include "sandbox/wire.hpp"

namespace rollcall::sandbox {

/// Exit statuses of fork_server.py after a MemoryError and after SIGXCPU.
constexpr int kOutOfMemory = 86, kOutOfTime = 87;

/// Fills end, exit, counts and reason from `ending`; outcome.out and outcome.err must be filled
/// already. `forced` says why the worker killed the program, or is End::passed if it did not;
/// `waiting` has the facts known when the wall-clock limit ended the run.
void settle(Outcome& outcome, const Request& request, End forced, const Waiting& waiting,
            const Ending& ending);
Outcome broken(Tier tier, std::string reason);

}  // namespace rollcall::sandbox
