// The spawner: a small single-threaded process, forked by a process of Rollcall at its start, that
// makes workers on demand until that process ends.
#pragma once

#include "sandbox/sandbox.hpp"

namespace rollcall::sandbox {

/// Serves requests of one byte from `socket`. Each is answered with the descriptor of a socket
/// whose other end is a worker. The worker first sends a frame: a Tier as a number and an empty
/// string, or a string that says what is wrong. Returns when the process that sends requests has
/// ended.
void spawn(int socket, bool allow_landlock);

}  // namespace rollcall::sandbox
