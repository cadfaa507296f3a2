// The loop of a worker.
#include "sandbox/worker.hpp"

#include "sandbox/interpreter.hpp"
#include "sandbox/process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace rollcall::sandbox {
namespace {

/// Whatever a run left as our child, dead by now: the end of its pid namespace has seen to that.
void bury_orphans() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
}

}  // namespace

void work(int socket, WorkerSetup setup) {
  Interpreter interpreter(setup, socket);
  for (;;) {
    const auto frame = receive_frame(socket);
    if (!frame) ::_exit(0);  // first of its pid namespace, so all that it started goes with it
    const Request request = decode_request(*frame);
    Outcome outcome = request.program.kind == Program::Kind::python ? interpreter.run(request) : run_process(request, setup, socket);
    bury_orphans();
    tidy(setup);
    if (!send_frame(socket, encode(outcome))) ::_exit(0);
  }
}

}  // namespace rollcall::sandbox
