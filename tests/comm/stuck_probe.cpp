// Rank 1 stays in a call that cannot be polled, longer than the others are ready to wait: each would report, but one message and exit code 3 are left.
// usage: stuck_probe FAILURE_FILE
#include "comm/communicator.hpp"
#include "comm/timed_call.hpp"

#include <chrono>
#include <thread>

int main(int argc, char** argv) {
  const rollcall::comm::MpiScope mpi(&argc, &argv);
  const auto world = mpi.world();
  rollcall::comm::TimedCall::note_failure_in(argv[1]);
  world->barrier();
  const rollcall::comm::TimedCall guard(0.3, "a long sleep");
  const rollcall::comm::TimedCall inner(0.1, "a call within it");  // changes nothing
  std::this_thread::sleep_for(std::chrono::seconds(30));
  return 0;
}
