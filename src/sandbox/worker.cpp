// The loop of a sandbox worker, which runs one untrusted program after another. A failure while
// memory ran out around the program is not a verdict.
#include "sandbox/worker.hpp"

#include "sandbox/interpreter.hpp"
#include "sandbox/process.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

namespace rollcall::sandbox {
namespace {

/// Reaps the processes that a run left as children of this one. They are dead, because their pid
/// namespace has ended.
void bury_orphans() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
}

}  // namespace

std::uint64_t ended_for_memory(int memory_events) {
  constexpr std::string_view kKey = "\noom_kill ";
  std::string all;
  std::array<char, 8192> part{};
  for (ssize_t size = 1; size > 0; all.append(part.data(), std::size_t(size))) {
    // A read of /proc returns at most a page.
    size =
        std::max<ssize_t>(0, ::pread(memory_events, part.data(), part.size(), off_t(all.size())));
  }
  const std::size_t at = all.find(kKey);
  std::uint64_t count = 0;
  if (at != std::string::npos)
    std::from_chars(all.data() + at + kKey.size(), all.data() + all.size(), count);
  return count;
}

namespace {

/// Makes a run undecided if memory ran out around it. A job's control group or a machine that is
/// short of memory is not a property of the program, and it is chance which process the kernel
/// kills. So a run that did not pass in that time tells nothing, even if another process was
/// killed. `before` is the result of ended_for_memory() when the run began.
void blame_memory(Outcome& outcome, int memory_events, std::uint64_t before) {
  if (outcome.end == End::passed || outcome.end == End::out_of_memory ||
      outcome.end == End::sandbox_error)
    return;
  const std::uint64_t ended = ended_for_memory(memory_events) - before;
  if (ended == 0) return;
  outcome.end = End::sandbox_error;
  outcome.reason = fmt::format("{}: meanwhile the kernel ended {} processes", kMemoryRanOut, ended);
}

}  // namespace

void work(int socket, WorkerSetup setup) {
  Interpreter interpreter(setup, socket);
  for (;;) {
    const auto frame = receive_frame(socket);
    // The other side is gone. In the first tier this worker is the first process of its pid
    // namespace, so all processes that it started end with it.
    if (!frame) ::_exit(0);
    const Request request = decode_request(*frame);
    const std::uint64_t before = ended_for_memory(setup.memory_events);
    Outcome outcome = request.program.kind == Program::Kind::python
                          ? interpreter.run(request)
                          : run_process(request, setup, socket);
    bury_orphans();
    tidy(setup);
    blame_memory(outcome, setup.memory_events, before);
    if (!send_frame(socket, encode(outcome))) ::_exit(0);
  }
}

}  // namespace rollcall::sandbox
