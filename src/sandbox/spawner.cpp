// Starts workers in namespaces, or under Landlock if namespaces are forbidden and Landlock is
// allowed.
#include "sandbox/spawner.hpp"

#include "base/errors/error.hpp"
#include "sandbox/confinement.hpp"
#include "sandbox/pipes.hpp"
#include "sandbox/system_calls.hpp"
#include "sandbox/wire.hpp"
#include "sandbox/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>

namespace rollcall::sandbox {
namespace {

void close_all_but(int socket) {
  for (int descriptor = 3; descriptor < 1024; ++descriptor) {
    if (descriptor != socket) ::close(descriptor);
  }
}

/// Detaches from the process that forked this one: keeps only standard error, and ignores the
/// terminal's signals.
void detach(int socket) {
  // Slurm sends stop signals to all processes of a step
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
    ::signal(number, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  close_all_but(socket);
  ::prctl(PR_SET_NAME, "rollcall-spawn");
}

void greet(int socket, Tier tier, const std::string& problem) {
  Writer greeting;
  greeting.put(std::uint64_t(tier));
  greeting.put(problem);
  send_frame(socket, greeting.bytes());
}

/// Sets the worker up with `prepare` and serves requests. If an error is thrown, its text is the
/// first and only frame that the worker sends.
template <class Prepare>
[[noreturn]] void be_worker(int socket, WorkerSetup setup, Prepare prepare) {
  ::prctl(PR_SET_NAME, "rollcall-sandbox");
  close_all_but(socket);
  try {
    setup.own_size = address_space();
    setup.memory_events = ::open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
    setup.outside = look_outside();
    prepare(setup);
    const std::vector<sock_filter> own = worker_calls(setup.tier);
    setup.filter = withheld_calls(setup.tier);
    const int error = install(own);
    require<EnvironmentError>(
        error == 0,
        fmt::format("cannot install the filter of system calls: {}", std::strerror(error)),
        "untrusted code could not be confined", "use a kernel with seccomp filters");
  } catch (const std::exception& problem) {
    greet(socket, Tier::none, problem.what());
    ::_exit(1);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a change of user has cleared this setting
  greet(socket, setup.tier, "");
  work(socket, std::move(setup));
}

void enter_namespaces(WorkerSetup& setup) {
  setup.own_pid_namespace = ::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
  require<EnvironmentError>(setup.own_pid_namespace >= 0, "cannot open /proc/self/ns/pid",
                            "tests could not have pid namespaces of their own", "mount /proc");
  become_inside_user();
  demand_limited_processes();
  enter_minimal_root();
  keep_only_mount_rights();
}

/// Called in the parent; the child becomes the worker. Returns nothing, or the reason why
/// namespaces cannot be used here.
std::optional<std::string> start_in_namespaces(int socket, unsigned number) {
  Pipe mapped = make_pipe(Flow::in);
  const pid_t worker = fork_into_namespaces();
  if (worker == 0) {
    close_descriptor(mapped.ours);
    char byte = 0;
    // Without mapped ids there is no worker; the parent knows why.
    if (::read(mapped.theirs, &byte, 1) != 1) ::_exit(1);
    close_descriptor(mapped.theirs);
    be_worker(socket, {Tier::namespaces, number}, enter_namespaces);
  }
  const int error = errno;
  close_descriptor(mapped.theirs);
  std::optional<std::string> problem;
  if (worker < 0) problem = fmt::format("no user namespaces: {}", std::strerror(error));
  else if (!map_ids(worker, number))
    problem = fmt::format("no user and group ids in a user namespace: {}", std::strerror(errno));
  else if (::write(mapped.ours, "m", 1) != 1) problem = "the worker is gone";
  close_descriptor(mapped.ours);
  return problem;
}

void start_behind_landlock(int socket, unsigned number, const std::string& folder) {
  if (::fork() != 0) return;
  be_worker(socket, {.tier = Tier::landlock, .number = number, .folder = folder},
            [](WorkerSetup& setup) {
              require<EnvironmentError>(landlock_is_complete(),
                                        "the kernel has no Landlock that covers truncation (ABI 3)",
                                        "files of this user could be cut by untrusted code",
                                        "use a system with user namespaces or Linux 6.2");
              restrict_by_landlock(setup.folder, setup.number);
            });
}

/// Folders in which programs of the second tier work. The spawner makes and removes them, because a
/// worker may not touch anything outside its own folder.
class Folders {
 public:
  Folders() = default;
  Folders(const Folders&) = delete;
  Folders& operator=(const Folders&) = delete;
  ~Folders() {
    std::error_code ignored;  // there is no process left to report to
    for (const auto& folder : made_) std::filesystem::remove_all(folder, ignored);
  }
  std::optional<std::string> make() {
    std::string folder =
        (std::filesystem::temp_directory_path() / "rollcall-sandbox-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) return std::nullopt;
    made_.push_back(folder);
    return folder;
  }

 private:
  std::vector<std::string> made_;
};

void start_worker(int socket, unsigned number, bool allow_landlock, Folders& folders) {
  const auto problem = start_in_namespaces(socket, number);
  if (!problem) return;
  const auto folder = allow_landlock ? folders.make() : std::nullopt;
  if (folder) start_behind_landlock(socket, number, *folder);
  else if (allow_landlock)
    greet(socket, Tier::none,
          error_message("cannot make a temporary folder", "programs need one to work in",
                        "set TMPDIR"));
  else
    greet(
        socket, Tier::none,
        error_message(
            *problem, "untrusted code could not be confined",
            "let this user create user namespaces, or allow the second tier (Landlock) in the run file"));
}

}  // namespace

void spawn(int socket, bool allow_landlock) {
  detach(socket);
  Folders folders;
  for (unsigned number = 0;; ++number) {
    char byte = 0;
    if (::recv(socket, &byte, 1, 0) != 1) break;  // the process that sends requests is gone
    while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) break;
    start_worker(ends[1], number % 1024, allow_landlock, folders);
    ::close(ends[1]);
    const bool sent = send_descriptors(socket, "w", &ends[0], 1);
    ::close(ends[0]);
    if (!sent) break;
  }
}

}  // namespace rollcall::sandbox
