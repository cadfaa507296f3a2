// Interprets signals and exit statuses in the light of the run's limits.
#include "sandbox/outcome.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

namespace rollcall::sandbox {
namespace {

/// The last output of programs that ran out of memory. An allocation beyond RLIMIT_AS or a process
/// beyond RLIMIT_NPROC fails inside the program, so only its own messages show it. They change how
/// a failure is named but not the verdict, since the program has not passed in any case.
constexpr std::array kOfMemory = {"MemoryError", "bad_alloc", "Cannot allocate memory",
                                  "emory exhausted", "ut of memory"};
constexpr std::array kOfProcesses = {"can't start new thread", "Cannot fork", "fork: retry",
                                     "Resource temporarily unavailable"};

template <std::size_t N>
bool speaks(const std::string& err, const std::array<const char*, N>& words) {
  const std::string_view tail =
      std::string_view(err).substr(err.size() - std::min<std::size_t>(err.size(), 4096));
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return tail.find(word) != std::string_view::npos; });
}

/// Whether the program used three quarters of its processor time or more. The kernel counts the
/// limit in ticks, and on a virtual machine the reported time may be a few tenths of a second below
/// it.
bool is_at_limit(const Outcome& outcome, const Limits& limits) {
  return outcome.counts.cpu_us * 4 >= std::uint64_t(limits.cpu_s) * 3'000'000;
}

void settle_signal(Outcome& outcome, const Limits& limits, int signal) {
  outcome.exit = 128 + signal;
  // a second after the limit, a process that ignores SIGXCPU is killed
  if (signal == SIGXCPU || (signal == SIGKILL && is_at_limit(outcome, limits))) {
    outcome.end = End::timed_out;
    outcome.reason = fmt::format("processor time: {} s", limits.cpu_s);
  } else if (signal == SIGXFSZ) {
    outcome.end = End::output_limit;
    outcome.reason = fmt::format("a file of more than {} bytes", limits.files);
  } else {
    outcome.end = End::crashed;
    outcome.reason = fmt::format("signal {} ({})", signal, ::strsignal(signal));
  }
}

void settle_forced(Outcome& outcome, const Limits& limits, End forced, const Waiting& waiting) {
  outcome.end = forced;
  outcome.exit = 128 + SIGKILL;
  if (forced == End::output_limit)
    outcome.reason = fmt::format("output of more than {} bytes", limits.output);
  if (forced == End::out_of_memory)
    outcome.reason = fmt::format("memory of all its processes: {} bytes", limits.memory);
  if (forced != End::timed_out) return;
  const Shortage shortage = shortage_of(waiting, double(outcome.counts.cpu_us) * 1e-6,
                                        double(limits.cpu_s), limits.wall_s);
  outcome.starved = shortage.starved;
  outcome.reason = fmt::format(
      "wall clock: {} s; {} ({})", limits.wall_s,
      shortage.starved ? kWasShort : "the machine was not short of processors", shortage.source);
}

}  // namespace

void settle(Outcome& outcome, const Request& request, End forced, const Waiting& waiting,
            const Ending& ending) {
  const Limits& limits = request.limits;
  const int status = int(ending.wait_status);
  outcome.counts.cpu_us = std::uint64_t(ending.cpu_us);
  outcome.counts.peak_memory = std::uint64_t(ending.peak_kib) << 10;
  if (forced != End::passed) return settle_forced(outcome, limits, forced, waiting);
  if (WIFSIGNALED(status)) {
    settle_signal(outcome, limits, WTERMSIG(status));
  } else {
    outcome.exit = WEXITSTATUS(status);
    outcome.end = outcome.exit == 0 ? End::passed : End::failed;
  }
  const bool is_python = request.program.kind == Program::Kind::python;
  if (is_python && outcome.exit == kOutOfTime && is_at_limit(outcome, limits)) {
    outcome.end = End::timed_out;
    outcome.reason = fmt::format("processor time: {} s", limits.cpu_s);
    return;
  }
  const bool memory = is_python && outcome.exit == kOutOfMemory;
  const bool lost = outcome.end == End::failed || outcome.end == End::crashed;
  if (memory || (lost && speaks(outcome.err, kOfMemory))) {
    outcome.end = End::out_of_memory;
    outcome.reason = fmt::format("memory: {} bytes", limits.memory);
  } else if (lost && speaks(outcome.err, kOfProcesses)) {
    outcome.reason = fmt::format("processes: {}", limits.processes);
  }
}

Outcome broken(Tier tier, std::string reason) {
  Outcome outcome;
  outcome.tier = tier;
  outcome.reason = std::move(reason);
  return outcome;
}

}  // namespace rollcall::sandbox
