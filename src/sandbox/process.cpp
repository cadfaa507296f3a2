// Makes, confines, attends and reaps one process.
#include "sandbox/process.hpp"

#include "sandbox/pipes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>

namespace rollcall::sandbox {
namespace {

enum Place { kIn, kOut, kErr, kEnding, kPlaces };

/// The wait_status of the Ending from a process that could not become the program. Its cpu_us then
/// holds the errno, and its peak_kib the step that failed (an index of kSteps).
constexpr std::int64_t kNotStarted = -1;

[[noreturn]] void give_up(int ending, std::int64_t step) {
  const Ending reported{kNotStarted, errno, step};
  (void)!::write(ending, &reported,
                 sizeof reported);  // if even this fails, the closed pipe shows it
  ::_exit(126);
}

constexpr std::array kSteps = {"mounting /tmp",       "giving up capabilities",
                               "limiting resources",  "installing the filter of system calls",
                               "running the command", "writing the files",
                               "starting a process"};

/// Everything that a run's processes need. It is made before they are forked, so that they allocate
/// nothing.
struct Run {
  const Request& request;
  const WorkerSetup& setup;
  const std::array<Pipe, kPlaces>& pipes;
  Restraints restraints;
  std::vector<char*> words;  ///< words of the command

  Run(const Request& asked, const WorkerSetup& worker, const std::array<Pipe, kPlaces>& made)
      : request(asked),
        setup(worker),
        pipes(made),
        restraints(restraints_of(asked.limits, own_code() ? worker.own_size : 0)) {
    for (const auto& word : asked.program.argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
  }
  bool own_code() const { return request.program.kind == Program::Kind::function; }
  int ending() const { return pipes[kEnding].theirs; }
};

void close_others_on_exec() {
  if (::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  // Linux before 5.11 lacks this flag; a worker opens few descriptors.
  for (int descriptor = 3; descriptor < 1024; ++descriptor)
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

bool write_files(const Program& program) {
  for (const auto& [name, content] : program.files) {
    const int file =
        ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700);
    const bool ok =
        file >= 0 && ::write(file, content.data(), content.size()) == ssize_t(content.size());
    if (file >= 0) ::close(file);
    if (!ok) return false;
  }
  return true;
}

[[noreturn]] void call_function(const Request& request) {
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  std::string output;
  const int status = request.program.function(request.input, output);
  for (std::string_view rest = output; !rest.empty();) {
    const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (written <= 0) ::_exit(125);
    rest.remove_prefix(std::size_t(written));
  }
  ::_exit(status);
}

[[noreturn]] void execute(const Run& run) {
  const char* environment[] = {"PATH=/usr/bin:/bin",        "HOME=/tmp",        "LANG=C.UTF-8",
                               "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0", nullptr};
  ::execvpe(run.words[0], run.words.data(), const_cast<char**>(environment));
  give_up(run.ending(), 4);
}

/// Runs in the process that becomes the program. Its three standard streams are pipes; all other
/// descriptors close on exec.
[[noreturn]] void become_program(const Run& run) {
  const int ending = run.ending();
  for (int place = kIn; place <= kErr; ++place) ::dup2(run.pipes[std::size_t(place)].theirs, place);
  close_others_on_exec();
  for (const int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGUSR2})
    // SIGUSR1 and SIGHUP stay ignored: they ask the job to stop, and the job lets programs finish.
    ::signal(number, SIG_DFL);
  ::setsid();  // kill(0) would reach the worker's process group
  if ((errno = give_up_capabilities()) != 0) give_up(ending, 1);
  if ((errno = limit_resources(run.restraints)) != 0) give_up(ending, 2);
  if ((errno = install(run.setup.filter)) != 0) give_up(ending, 3);
  if (run.own_code()) call_function(run.request);
  execute(run);
}

Ending ending_of(int status, const rusage& usage) {
  const auto microseconds = [](const timeval& t) {
    return std::int64_t(t.tv_sec) * 1'000'000 + t.tv_usec;
  };
  return {status, microseconds(usage.ru_utime) + microseconds(usage.ru_stime), usage.ru_maxrss};
}

Ending wait_for(pid_t program) {
  int status = 0;
  rusage usage{};
  for (pid_t gone = 0; gone != program;) {
    gone = ::wait4(-1, &status, 0, &usage);  // orphaned processes are reaped here too
    if (gone < 0 && errno != EINTR) give_up(-1, 0);
  }
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return ending_of(status, usage);
}

/// The first process of the run's pid namespace. It outlives the program just long enough to write
/// its Ending, and every process that the program left behind ends with it.
[[noreturn]] void be_first(const Run& run) {
  const int ending = run.ending();
  if ((errno = mount_private_folder(run.restraints)) != 0) give_up(ending, 0);
  if (!write_files(run.request.program)) give_up(ending, 5);
  if ((errno = give_up_capabilities()) != 0) give_up(ending, 1);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const pid_t program = ::fork();
  if (program < 0) give_up(ending, 6);
  if (program == 0) become_program(run);
  for (int place = kIn; place <= kErr; ++place) ::close(run.pipes[std::size_t(place)].theirs);
  const Ending reported = wait_for(program);
  // The write fails if the worker is gone, and then the kernel has ended this process too.
  (void)!::write(ending, &reported, sizeof reported);
  ::_exit(0);
}

pid_t begin(const Run& run) {
  const bool namespaces = run.setup.tier == Tier::namespaces;
  const unsigned long flags = namespaces ? CLONE_NEWPID | CLONE_NEWNS | SIGCHLD : SIGCHLD;
  const pid_t child = pid_t(::syscall(SYS_clone, flags, nullptr, nullptr, nullptr, 0L));
  if (child != 0) return child;
  for (const Pipe& pipe : run.pipes) ::close(pipe.ours);
  if (namespaces) be_first(run);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::chdir(run.setup.folder.c_str()) != 0 || !write_files(run.request.program))
    give_up(run.ending(), 5);
  become_program(run);
}

/// Reaps `child`, which has ended, and says how the program ended. That is the Ending that came
/// through the pipe `ending`, or else the wait status of `child`. The wait status is the normal
/// case in the second tier, where `child` is the program, and means a kill in the first, where
/// `child` is the first process of the pid namespace.
Ending bury(pid_t child, int ending, std::optional<Ending> reported) {
  int status = 0;
  rusage usage{};
  // In the first tier this returns once every process of the pid namespace is gone.
  while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) continue;
  Ending late;
  if (!reported && ::read(ending, &late, sizeof late) == sizeof late) reported = late;
  return reported.value_or(ending_of(status, usage));
}

}  // namespace

Outcome run_process(const Request& request, const WorkerSetup& setup, int owner) {
  Pipes<kPlaces> pipes;
  for (int place = 0; place < kPlaces; ++place)
    pipes.all[std::size_t(place)] = make_pipe(place == kIn ? Flow::in : Flow::out);
  if (!pipes.complete())
    return broken(setup.tier, fmt::format("no pipe: {}", std::strerror(errno)));
  const pid_t child = begin(Run(request, setup, pipes.all));
  if (child < 0) return broken(setup.tier, fmt::format("cannot fork: {}", std::strerror(errno)));
  pipes.close_theirs();

  Outcome outcome;
  outcome.tier = setup.tier;
  int pid_descriptor = -1;
  // In the second tier the pipe closes when the program is executed, long before its end, so a pid
  // descriptor shows the end.
  if (setup.tier == Tier::landlock) pid_descriptor = int(::syscall(SYS_pidfd_open, child, 0U));
  Running running{child,
                  pid_descriptor >= 0 ? pid_descriptor : pipes.all[kEnding].ours,
                  {{&pipes.all[kIn].ours, request.input}},
                  {},
                  owner};
  running.outside = &setup.outside, running.memory = request.limits.memory;
  const std::size_t most = request.limits.output;
  running.catches = {{&pipes.all[kOut].ours, &outcome.out, most},
                     {&pipes.all[kErr].ours, &outcome.err, most}};
  std::optional<Ending> reported;
  End forced = attend(running, request.limits.wall_s, reported);
  close_descriptor(pid_descriptor);
  const Ending ending = bury(child, pipes.all[kEnding].ours, reported);
  if (!drain(running) && forced == End::passed) forced = End::output_limit;
  if (ending.wait_status == kNotStarted)
    return broken(setup.tier, fmt::format("{}: {}", kSteps.at(std::size_t(ending.peak_kib)),
                                          std::strerror(int(ending.cpu_us))));
  settle(outcome, request, forced, running.waiting, ending);
  return outcome;
}

void tidy(const WorkerSetup& setup) {
  if (setup.tier != Tier::landlock) return;
  std::error_code ignored;  // files that cannot be removed only take disk space
  for (const auto& entry : std::filesystem::directory_iterator(setup.folder, ignored))
    std::filesystem::remove_all(entry.path(), ignored);
}

}  // namespace rollcall::sandbox
