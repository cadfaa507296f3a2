// The loop of a sandbox worker: it runs one untrusted program after the other. What failed while
// memory ran out around it is no verdict.
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

/// Whatever a run left as our child, dead by now: the end of its pid namespace has seen to that.
void bury_orphans() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
}

}  // namespace

std::uint64_t ended_for_memory(int memory_events) {
  constexpr std::string_view kKey = "\noom_kill ";
  std::string all;
  std::array<char, 8192> part{};
  for (ssize_t size = 1; size > 0; all.append(part.data(), std::size_t(size))) {
    // a page at a time comes back
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

/// A job's control group or a whole machine that is short of memory is no property of a program,
/// and which process the kernel ends is chance. So a run that did not pass meanwhile says nothing,
/// even if what ended was another's. `before`: how many had been ended when it began.
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
    if (!frame) ::_exit(0);  // first of its pid namespace, so all that it started goes with it
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
