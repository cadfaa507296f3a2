// Ranks are the processes that mpirun started; the test main has started MPI.
#include "comm/world.hpp"

namespace rollcall::comm {

void over_mpi(const std::function<void(Communicator&)>& body) {
  const MpiScope mpi(nullptr, nullptr);
  body(*mpi.world());
}

void in_world(const std::function<void(Communicator&)>& body) {
  over_mpi(body);
  over_mpi([&](Communicator& world) { body(*world.split_by_node()); });
}

}  // namespace rollcall::comm
