// All ranks stay too long in a call that cannot be polled, and rank 1 is stopped: each other would
// report, but one message, which names rank 1, and exit code 3 are left.
// usage: stuck_probe FAILURE_FILE
#include "comm/communicator.hpp"
#include "comm/timed_call.hpp"

#include <chrono>
#include <csignal>
#include <thread>

int main(int argc, char** argv) {
  const rollcall::comm::MpiScope mpi(&argc, &argv);
  const auto world = mpi.world();
  rollcall::comm::TimedCall::note_failure_in(argv[1], world->rank());
  world->barrier();
  // a fourth would take no part
  const rollcall::comm::TimedCall guard(0.3, "a long sleep",
                                        {"rank 0", "rank 1 (sleeper)", "rank 2", ""});
  // changes nothing
  const rollcall::comm::TimedCall inner(0.1, "a call within it");
  if (world->rank() == 1) std::raise(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(30));
  return 0;
}
