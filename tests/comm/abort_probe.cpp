// Rank 1 ends the job while the others wait: by abort(75), or when the argument is "throw" by an
// exception that leaves the MPI scope (exit code 3). The launcher's exit code is the verdict.
#include "comm/communicator.hpp"

#include "base/errors/error.hpp"

#include <exception>

int main(int argc, char** argv) try {
  const rollcall::comm::MpiScope mpi(&argc, &argv);
  const auto world = mpi.world();
  if (world->rank() == 1 && argc > 1 && std::string(argv[1]) == "throw")
    throw rollcall::NumericsError("the loss is not finite");
  if (world->rank() == 1) world->abort(int(rollcall::ExitCode::requeue));
  world->barrier();
  return 0;
} catch (const std::exception&) {
  return 1;  // not reached: the job has been aborted
}
