// Starts the interpreter and runs one test after another in it.
#include "sandbox/interpreter.hpp"

#include "sandbox/outcome.hpp"
#include "sandbox/pipes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace rollcall::sandbox {
namespace {

#include "sandbox/python.inc"  // kForkServer, the text of the files in python/

// The pipes of a run. kTests exists only for a program with checks.
enum Place { kIn, kOut, kErr, kProgram, kReport, kTests, kPlaces };
constexpr const char* kPython = "/usr/bin/python3";
constexpr int kServer = 3, kNamespace = 4, kFilter = 5;  // descriptors of the interpreter; those it
                                                         // receives come after these

/// An unnamed file that holds the filter's instructions.
int filter_file(const std::vector<sock_filter>& filter) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
  // a few KiB, less than a pipe holds
  const ssize_t size = ssize_t(filter.size() * sizeof(sock_filter));
  const ssize_t written = ::write(ends[1], filter.data(), std::size_t(size));
  ::close(ends[1]);
  return written == size ? ends[0] : -1;
}

[[noreturn]] void become_interpreter(const WorkerSetup& setup, int server) {
  // All descriptors are moved above the fixed numbers first, so that none is overwritten before it
  // is moved to its number.
  const int filter = ::fcntl(filter_file(setup.filter), F_DUPFD_CLOEXEC, 64),
            nothing = ::fcntl(::open("/dev/null", O_RDWR | O_CLOEXEC), F_DUPFD_CLOEXEC, 64);
  const int socket = ::fcntl(server, F_DUPFD_CLOEXEC, 64);
  const int own = ::fcntl(setup.own_pid_namespace >= 0 ? setup.own_pid_namespace : nothing,
                          F_DUPFD_CLOEXEC, 64);
  for (const auto& [from, to] : {std::pair{nothing, 0},
                                 {nothing, 1},
                                 {nothing, 2},
                                 {socket, kServer},
                                 {own, kNamespace},
                                 {filter, kFilter}}) {
    if (::dup2(from, to) < 0) ::_exit(126);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string server_number = std::to_string(kServer),
                    filter_number = std::to_string(kFilter);
  const std::string namespace_number =
      std::to_string(setup.own_pid_namespace >= 0 ? kNamespace : -1);
  const char* environment[] = {"PATH=/usr/bin:/bin",        "HOME=/tmp",        "LANG=C.UTF-8",
                               "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0", nullptr};
  ::execle(kPython, "python3", "-c", kForkServer, server_number.c_str(), namespace_number.c_str(),
           filter_number.c_str(), setup.folder.c_str(), nullptr, environment);
  ::_exit(126);
}

}  // namespace

std::optional<std::string> Interpreter::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return "cannot create a socket pair";
  pid_ = ::fork();
  if (pid_ == 0) become_interpreter(*setup_, ends[1]);
  ::close(ends[1]);
  socket_ = ends[0];
  if (pid_ < 0) return "cannot fork";
  const timeval patience{30, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::array<char, 5> greeting{};
  if (::recv(socket_, greeting.data(), greeting.size(), MSG_WAITALL) == 5 &&
      std::string_view(greeting.data(), 5) == "ready")
    return std::nullopt;
  stop();
  return fmt::format("{} does not start (3.9 or newer is needed)", kPython);
}

void Interpreter::stop() {
  close_descriptor(socket_);
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  pid_ = -1;
}

namespace {

/// The report of the process that runs the checks. be_checks() in fork_server.py writes it to a
/// pipe that the program never gets.
struct Report {
  /// 'e': all checks ran; 'g': the program had ended before the checks; 't' and 'm': the checks ran
  /// out of time or memory; 'u': the checks cannot be used; 0: no report came.
  char end = 0;
  std::string reason;

  Report(std::string_view bytes, Counts& counts) {
    std::array<std::uint32_t, 4> numbers{};
    if (bytes.size() < 1 + sizeof numbers) return;
    end = bytes.front();
    std::memcpy(numbers.data(), bytes.data() + 1, sizeof numbers);
    counts.checks = numbers[0], counts.checks_passed = numbers[1], counts.first_failed = numbers[2],
    counts.by_program = numbers[3];
    reason = bytes.substr(1 + sizeof numbers);
  }
};

/// Sets the outcome of a program with checks. `outcome` says how the program ended. With 'e', 't',
/// 'm' and 'u' the report decides, because the program was killed after its checks. Otherwise the
/// program's end decides, and a program that seems to have passed, or that was killed, has failed.
void judge(Outcome& outcome, const Report& report, const Limits& limits) {
  const auto settle = [&](End end, std::string reason) {
    outcome.end = end, outcome.reason = std::move(reason);
  };
  const bool was_killed = outcome.exit == 128 + SIGKILL && outcome.end == End::crashed;
  switch (report.end) {
    case 'e':
      outcome.exit = 0;
      return outcome.counts.checks == outcome.counts.checks_passed
                 ? settle(End::passed, "")
                 : settle(End::failed, report.reason);
    case 't':
      return settle(End::timed_out,
                    fmt::format("processor time of the checks: {} s", limits.cpu_s));
    case 'm':
      return settle(End::out_of_memory,
                    fmt::format("memory of the checks: {} bytes", limits.memory));
    case 'u': return settle(End::sandbox_error, report.reason);
    case 'g':
      if (outcome.end == End::passed || was_killed) settle(End::failed, report.reason);
      return;
    default:  // no report: an object of the program has ended the process of the checks
      if (outcome.end == End::passed || was_killed)
        settle(End::failed, "its checks ended before they could report");
  }
}

}  // namespace

Outcome Interpreter::run(const Request& request) {
  const Tier tier = setup_->tier;
  if (socket_ < 0) {
    if (const auto problem = start()) return broken(tier, *problem);
  }
  const bool checked = !request.program.checks.empty();
  const int places = checked ? kPlaces : kTests;
  Pipes<kPlaces> pipes;
  std::array<int, kPlaces> theirs{};
  for (int place = 0; place < places; ++place) {
    Pipe& pipe = pipes.all[std::size_t(place)];
    pipe = make_pipe(place == kIn || place == kProgram || place == kTests ? Flow::in : Flow::out);
    if (pipe.ours < 0) return broken(tier, fmt::format("no pipe: {}", std::strerror(errno)));
    theirs[std::size_t(place)] = pipe.theirs;
  }
  Feed tests{&pipes.all[kTests].ours, request.program.checks};
  // The interpreter finds the pipe full; "whole" below says that the pipe holds all checks.
  if (checked) feed(tests);
  const std::string limits =
      resource_options(request.limits) + fmt::format("files {} wall {} {}", request.limits.files,
                                                     request.limits.wall_s,
                                                     tests.rest.empty() ? "whole" : "part");
  std::int64_t pid = -1;
  if (!send_descriptors(socket_, limits, theirs.data(), places) ||
      ::recv(socket_, &pid, sizeof pid, MSG_WAITALL) != sizeof pid || pid <= 0) {
    stop();
    return broken(tier, "the interpreter is gone");
  }
  pipes.close_theirs();

  Outcome outcome;
  outcome.tier = tier;
  std::string told_by_checks;
  Running running{
      pid_t(pid),
      socket_,
      {{&pipes.all[kIn].ours, request.input}, {&pipes.all[kProgram].ours, request.program.code}},
      {},
      owner_};
  if (checked) running.feeds.push_back(tests);
  const std::size_t most = request.limits.output;
  running.catches = {{&pipes.all[kOut].ours, &outcome.out, most},
                     {&pipes.all[kErr].ours, &outcome.err, most},
                     {&pipes.all[kReport].ours, &told_by_checks, 4096}};
  running.outside = &setup_->outside, running.memory = request.limits.memory;
  std::optional<Ending> reported;
  End forced = attend(running, request.limits.wall_s, reported);
  if (!reported) {
    ::kill(running.pid, SIGKILL);
    stop();
    return broken(tier, "the interpreter is gone");
  }
  if (!drain(running) && forced == End::passed) forced = End::output_limit;
  if (told_by_checks.starts_with("broken: ")) return broken(tier, told_by_checks);
  settle(outcome, request, forced, running.waiting, *reported);
  if (checked) {
    const Report report(told_by_checks, outcome.counts);
    if (forced == End::passed) judge(outcome, report, request.limits);
  }
  return outcome;
}

}  // namespace rollcall::sandbox
