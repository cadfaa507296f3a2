// Rank 1 ends the job with exit code 75 while the others wait; the launcher's exit code is the verdict.
#include "comm/communicator.hpp"

#include "base/error.hpp"

int main(int argc, char** argv) {
  const rollcall::comm::MpiScope mpi(&argc, &argv);
  const auto world = mpi.world();
  if (world->rank() == 1) world->abort(int(rollcall::ExitCode::requeue));
  world->barrier();
  return 0;
}
