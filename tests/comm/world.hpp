// One test source, two transports: a body runs on every rank of a world of threads (program comm)
// or of MPI processes (program comm_mpi).
#pragma once

#include "comm/communicator.hpp"

#include <functional>

namespace rollcall::comm {

/// Threads: worlds of 1, 3 and 4 ranks in turn. MPI: the world the program was started with, then
/// the same ranks as those of a node, which share memory. EXPECT inside, never ASSERT before a
/// collective.
void in_world(const std::function<void(Communicator&)>& body);
/// The former alone; not among threads.
void over_mpi(const std::function<void(Communicator&)>& body);

}  // namespace rollcall::comm
