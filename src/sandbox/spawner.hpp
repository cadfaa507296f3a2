// The spawner: forked in the first moment of the process, small and single-threaded; makes workers
// on demand until the process is gone.
#pragma once

#include "sandbox/sandbox.hpp"

namespace rollcall::sandbox {

/// Serves requests of one byte from `socket`; each is answered by a descriptor, the other side of
/// which is a worker that begins with a frame: a Tier as a number and an empty text, or what is
/// wrong. Returns when the
/// process is gone.
void spawn(int socket, bool allow_landlock);

}  // namespace rollcall::sandbox
