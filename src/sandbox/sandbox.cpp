// The pool of connections to workers, in the process that wants programs run.
#include "sandbox/sandbox.hpp"

#include "base/errors/error.hpp"
#include "sandbox/pipes.hpp"
#include "sandbox/spawner.hpp"
#include "sandbox/wire.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>

namespace rollcall::sandbox {
namespace {

constexpr double kGrace = 30;  // seconds after a run's own wall-clock limit until its worker is
                               // given up

constexpr std::array kEnds = {"passed",       "failed",  "timed_out",    "out_of_memory",
                              "output_limit", "crashed", "sandbox_error"};
constexpr std::array kTiers = {"none", "namespaces", "landlock"};

std::optional<Sandbox>& shared() {
  static std::optional<Sandbox> sandbox;
  return sandbox;
}

}  // namespace

const char* name_of(End end) { return kEnds.at(std::size_t(end)); }
const char* name_of(Tier tier) { return kTiers.at(std::size_t(tier)); }

Program python(std::string code, std::string checks) {
  Program program;
  program.kind = Program::Kind::python;
  program.code = std::move(code);
  program.checks = std::move(checks);
  return program;
}

Program command(std::vector<std::string> argv,
                std::vector<std::pair<std::string, std::string>> files) {
  Program program;
  program.kind = Program::Kind::command;
  program.argv = std::move(argv);
  program.files = std::move(files);
  return program;
}

Program function(Function f) {
  Program program;
  program.kind = Program::Kind::function;
  program.function = f;
  return program;
}

struct Sandbox::State {
  Setup setup;
  int spawner = -1;
  pid_t pid = -1;
  std::mutex mutex;
  std::condition_variable freed;
  std::vector<int> idle;  // sockets of workers
  int total = 0;          // number of workers, idle or not

  /// Returns the socket of a new worker, or -1 with the reason in `problem`. Called with the mutex
  /// held, since the spawner serves one request at a time.
  int new_worker(std::string& problem) const {
    const int socket =
        ::send(spawner, "w", 1, MSG_NOSIGNAL) == 1 ? receive_descriptor(spawner) : -1;
    if (socket < 0) {
      problem = "the spawner of the sandbox is gone";
      return -1;
    }
    const timeval patience{time_t(setup.limits.wall_s + kGrace), 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const auto frame = receive_frame(socket);
    if (!frame) problem = "the worker ended while it was being confined";
    else if (Reader greeting(*frame); Tier(greeting.number()) == Tier::none)
      problem = greeting.text();
    else return socket;
    ::close(socket);
    return -1;
  }

  int take(std::string& problem) {
    std::unique_lock lock(mutex);
    freed.wait(lock, [&] { return !idle.empty() || total < setup.workers; });
    if (!idle.empty()) {
      const int socket = idle.back();
      idle.pop_back();
      return socket;
    }
    const int socket = new_worker(problem);
    total += socket >= 0 ? 1 : 0;
    return socket;
  }

  void give(int socket) {
    const std::lock_guard lock(mutex);
    if (socket >= 0) idle.push_back(socket);
    else --total;
    freed.notify_one();
  }
};

Sandbox::Sandbox(const Setup& setup) : state_(std::make_unique<State>()) {
  const Limits& l = setup.limits;
  require<ConfigError>(l.cpu_s > 0 && l.wall_s > 0 && l.memory > 0 && l.output > 0 && l.files > 0 &&
                           l.processes > 0 && setup.workers > 0,
                       "a limit of the sandbox is not above zero", "no program could run",
                       "give every limit a positive number");
  state_->setup = setup;
  int ends[2];
  const int refused = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 ? 0 : errno;
  require<EnvironmentError>(refused == 0,
                            fmt::format("cannot create a socket pair: {}", std::strerror(refused)),
                            "the sandbox could not be started", "check the limit of open files");
  state_->pid = ::fork();
  if (state_->pid == 0) {
    ::close(ends[0]);
    spawn(ends[1], setup.allow_landlock);
    ::_exit(0);
  }
  ::close(ends[1]);
  state_->spawner = ends[0];
  require<EnvironmentError>(state_->pid > 0, fmt::format("cannot fork: {}", std::strerror(errno)),
                            "the sandbox could not be started", "check the limit of processes");
  for (int i = 0; i < setup.workers; ++i) {
    std::string problem;
    const int worker = state_->new_worker(problem);
    require<EnvironmentError>(worker >= 0, "the sandbox cannot confine programs here: " + problem,
                              "untrusted code would run free", "see src/sandbox/README.md");
    state_->idle.push_back(worker);
    ++state_->total;
  }
}

Sandbox::Sandbox(Sandbox&&) noexcept = default;

Sandbox::~Sandbox() {
  if (!state_) return;
  for (const int socket : state_->idle) ::close(socket);
  close_descriptor(state_->spawner);  // ends the spawner, and with it every worker
  while (::waitpid(state_->pid, nullptr, 0) < 0 && errno == EINTR) continue;
}

const Setup& Sandbox::setup() const { return state_->setup; }

Outcome Sandbox::run(const Program& program, std::string_view input) const {
  Outcome outcome;
  const int socket = state_->take(outcome.reason);
  if (socket < 0) return outcome;
  const auto frame =
      send_frame(socket, encode(Request{program, std::string(input), state_->setup.limits}))
          ? receive_frame(socket)
          : std::nullopt;
  if (frame) {
    outcome = decode_outcome(*frame);
  } else {
    ::close(socket);
    outcome.reason = "the worker is gone";
  }
  state_->give(frame ? socket : -1);
  return outcome;
}

void start(const Setup& setup) {
  expect(!shared().has_value(), "the sandbox of a process is started once");
  shared().emplace(setup);
}

const Sandbox* started() { return shared() ? &*shared() : nullptr; }

}  // namespace rollcall::sandbox
