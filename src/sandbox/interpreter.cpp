// Starting the interpreter, and one test after the other through it.
#include "sandbox/interpreter.hpp"

#include "sandbox/outcome.hpp"
#include "sandbox/pipes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/random.h>
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

#include "sandbox/fork_server.inc"  // kForkServer: the text of fork_server.py

enum Place { kIn, kOut, kErr, kProgram, kReport, kPlaces };
constexpr const char* kPython = "/usr/bin/python3";
constexpr int kServer = 3, kNamespace = 4, kFilter = 5;  // descriptors of the interpreter; those it receives come after these

std::string framed(std::string_view bytes) {
  Writer out;
  out.put(bytes);
  return out.bytes();
}

/// A file without a name that holds the filter's instructions.
int filter_file(const std::vector<sock_filter>& filter) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
  const ssize_t size = ssize_t(filter.size() * sizeof(sock_filter));  // a few KiB, less than a pipe holds
  const ssize_t written = ::write(ends[1], filter.data(), std::size_t(size));
  ::close(ends[1]);
  return written == size ? ends[0] : -1;
}

[[noreturn]] void become_interpreter(const WorkerSetup& setup, int server) {
  // Above all fixed places first, so that none is overwritten before it is moved.
  const int filter = ::fcntl(filter_file(setup.filter), F_DUPFD_CLOEXEC, 64), nothing = ::fcntl(::open("/dev/null", O_RDWR | O_CLOEXEC), F_DUPFD_CLOEXEC, 64);
  const int socket = ::fcntl(server, F_DUPFD_CLOEXEC, 64);
  const int own = ::fcntl(setup.own_pid_namespace >= 0 ? setup.own_pid_namespace : nothing, F_DUPFD_CLOEXEC, 64);
  for (const auto& [from, to] : {std::pair{nothing, 0}, {nothing, 1}, {nothing, 2}, {socket, kServer}, {own, kNamespace}, {filter, kFilter}}) {
    if (::dup2(from, to) < 0) ::_exit(126);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string server_number = std::to_string(kServer), filter_number = std::to_string(kFilter);
  const std::string namespace_number = std::to_string(setup.own_pid_namespace >= 0 ? kNamespace : -1);
  const char* environment[] = {"PATH=/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0", nullptr};
  ::execle(kPython, "python3", "-c", kForkServer, server_number.c_str(), namespace_number.c_str(), filter_number.c_str(), setup.folder.c_str(), nullptr,
           environment);
  ::_exit(126);
}

}  // namespace

std::optional<std::string> Interpreter::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return "cannot create a socket pair";
  pid_ = ::fork();
  if (pid_ == 0) become_interpreter(*setup_, ends[1]);
  ::close(ends[1]);
  socket_ = ends[0];
  if (pid_ < 0) return "cannot fork";
  const timeval patience{30, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::array<char, 5> greeting{};
  if (::recv(socket_, greeting.data(), greeting.size(), MSG_WAITALL) == 5 && std::string_view(greeting.data(), 5) == "ready") return std::nullopt;
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

/// After the code has run: how many checks passed, behind a number that it could not know.
struct Report {
  std::string secret, bytes;
  bool read(Counts& counts) const {
    if (bytes.size() != secret.size() + 12 || !bytes.starts_with(secret)) return false;
    std::memcpy(&counts.checks, bytes.data() + secret.size(), 4);
    std::memcpy(&counts.checks_passed, bytes.data() + secret.size() + 4, 4);
    std::memcpy(&counts.first_failed, bytes.data() + secret.size() + 8, 4);
    return true;
  }
};

std::string fresh_secret() {
  std::string secret(16, '\0');
  return ::getrandom(secret.data(), secret.size(), 0) == ssize_t(secret.size()) ? secret : std::string();
}

}  // namespace

Outcome Interpreter::run(const Request& request) {
  const Tier tier = setup_->tier;
  if (socket_ < 0) {
    if (const auto problem = start()) return broken(tier, *problem);
  }
  Pipes<kPlaces> pipes;
  for (int place = 0; place < kPlaces; ++place) pipes.all[std::size_t(place)] = make_pipe(place == kIn || place == kProgram ? Flow::in : Flow::out);
  const bool checked = !request.program.checks.empty();
  Report report{fresh_secret(), {}};
  if (!pipes.complete() || report.secret.empty()) return broken(tier, fmt::format("no pipe or no random number: {}", std::strerror(errno)));
  std::array<int, kPlaces> theirs{};
  for (int place = 0; place < kPlaces; ++place) theirs[std::size_t(place)] = pipes.all[std::size_t(place)].theirs;
  const std::string limits = resource_options(request.limits) + fmt::format("files {}", request.limits.files);
  std::int64_t pid = -1;
  if (!send_descriptors(socket_, limits, theirs.data(), kPlaces) || ::recv(socket_, &pid, sizeof pid, MSG_WAITALL) != sizeof pid || pid <= 0) {
    stop();
    return broken(tier, "the interpreter is gone");
  }
  pipes.close_theirs();

  Outcome outcome;
  outcome.tier = tier;
  std::string program = framed(request.program.code);
  program += checked ? '1' : '0';
  if (checked) program.append(framed(request.program.checks)).append(framed(report.secret));
  Running running{pid_t(pid), socket_, {{&pipes.all[kIn].ours, request.input}, {&pipes.all[kProgram].ours, program}}, {}, owner_};
  const std::size_t most = request.limits.output;
  running.catches = {{&pipes.all[kOut].ours, &outcome.out, most}, {&pipes.all[kErr].ours, &outcome.err, most}, {&pipes.all[kReport].ours, &report.bytes, 4096}};
  std::optional<Ending> told;
  End forced = attend(running, request.limits.wall_s, told);
  if (!told) {
    ::kill(pid_t(pid), SIGKILL);
    stop();
    return broken(tier, "the interpreter is gone");
  }
  if (!drain(running) && forced == End::passed) forced = End::output_limit;
  if (report.bytes.starts_with("broken: ")) return broken(tier, report.bytes);
  settle(outcome, request, forced, *told);
  if (checked && outcome.end == End::passed && !(report.read(outcome.counts) && outcome.counts.checks == outcome.counts.checks_passed)) {
    outcome.end = End::failed;
    outcome.reason = "it ended before its checks";
  } else if (checked) {
    report.read(outcome.counts);
  }
  return outcome;
}

}  // namespace rollcall::sandbox
