// Ranks are the processes that mpirun started; the test main has started MPI.
#include "comm/world.hpp"

namespace rollcall::comm {

void in_world(const std::function<void(Communicator&)>& body) {
  const MpiScope mpi(nullptr, nullptr);
  body(*mpi.world());
}

}  // namespace rollcall::comm
