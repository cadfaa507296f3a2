// What runs come to: every outcome, both tiers, many at a time, and what a run may not leave to the
// next.
#include "sandbox/sandbox.hpp"

#include "attacks/needs.hpp"
#include "bait.hpp"
#include "base/errors/error.hpp"
#include "sandbox/confinement.hpp"

#include <gtest/gtest.h>

#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <thread>

namespace rollcall::sandbox {
namespace {

sandbox::Setup small() {
  return {.limits = {.cpu_s = 1,
                     .wall_s = 15,
                     .memory = 256 << 20,
                     .output = 1 << 16,
                     .files = 1 << 20,
                     .processes = 8},
          .workers = 1};
}

/// "passed 0": outcome and exit status.
std::string told(const Outcome& o) {
  return std::string(name_of(o.end)) + " " + std::to_string(o.exit);
}

Outcome shell(const Sandbox& sandbox, const std::string& script, std::string_view input = {}) {
  return sandbox.run(command({"sh", "-c", script}), input);
}

TEST(Sandbox, CommandsHaveInputOutputAndStatus) {
  const Sandbox sandbox(small());
  const Outcome o = shell(sandbox, "read a; echo out $a; echo err >&2; exit 7", "word\n");
  EXPECT_EQ(told(o), "failed 7");
  EXPECT_EQ(o.out, "out word\n");
  EXPECT_EQ(o.err, "err\n");
  EXPECT_EQ(o.tier, Tier::namespaces);
  EXPECT_EQ(told(sandbox.run(command({"cat", "name"}, {{"name", "content"}}))), "passed 0");
  EXPECT_EQ(sandbox.run(command({"cat", "name"}, {{"name", "content"}})).out, "content");
  const Outcome none = sandbox.run(command({"no-such-program"}));
  EXPECT_EQ(none.end, End::sandbox_error);
  EXPECT_EQ(none.reason, "running the command: No such file or directory");
}

TEST(Sandbox, InputLargerThanAPipePassesThrough) {
  sandbox::Setup setup = small();
  setup.limits.output = 4 << 20;
  const Sandbox sandbox(setup);
  const std::string large(3 << 20, 'x');
  EXPECT_EQ(sandbox.run(command({"cat"}), large).out, large);
  EXPECT_EQ(sandbox.run(python("import sys\nsys.stdout.write(sys.stdin.read())"), large).out,
            large);
  EXPECT_EQ(told(sandbox.run(command({"true"}), large)), "passed 0");  // nobody reads it
}

TEST(Sandbox, LimitsAreNamed) {
  const Sandbox sandbox(small());
  EXPECT_EQ(told(shell(sandbox, "while :; do :; done")), "timed_out 152");  // SIGXCPU
  EXPECT_EQ(told(shell(sandbox, "trap '' XCPU; while :; do :; done")), "timed_out 137");
  EXPECT_EQ(told(shell(sandbox, "yes")), "output_limit 137");
  EXPECT_EQ(shell(sandbox, "yes >&2").err.size(), 65536U);
  EXPECT_EQ(told(shell(sandbox, "exec head -c 2000000 /dev/zero > large")), "output_limit 153");
  EXPECT_EQ(told(shell(sandbox, "kill -SEGV $$")), "crashed 139");
  // the first process of a pid namespace: abort() ends it by its second way
  EXPECT_EQ(told(sandbox.run(python("import os\nos.abort()"))), "crashed 139");
  EXPECT_EQ(told(sandbox.run(python("x = bytearray(10**9)"))), "out_of_memory 86");
  EXPECT_EQ(told(sandbox.run(python("import ctypes\nctypes.string_at(0)"))), "crashed 139");
  EXPECT_EQ(told(sandbox.run(python("while True: pass"))), "timed_out 87");  // SIGXCPU again
  EXPECT_EQ(told(sandbox.run(python(
                "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"))),
            "timed_out 137");
}

TEST(Sandbox, TheLimitOfProcessesIsNamed) {
  const Sandbox sandbox(small());
  const Outcome python_forks =
      sandbox.run(python("import os\nfor i in range(40):\n  if os.fork() == 0: os.read(0, 1)"));
  EXPECT_EQ(told(python_forks) + " " + python_forks.reason, "failed 1 processes: 8");
  const Outcome shell_forks = shell(sandbox, "for i in $(seq 40); do sleep 5 & done; wait");
  EXPECT_EQ(shell_forks.reason, "processes: 8") << told(shell_forks) << shell_forks.err;
}

int wait_for_ever(std::string_view, std::string&) {
  for (;;) ::pause();
}
int echo(std::string_view input, std::string& output) {
  output = input;
  return 3;
}

TEST(Sandbox, FunctionsOfTheProgram) {
  const Sandbox sandbox(small());
  const Outcome o = sandbox.run(function(echo), "word");
  EXPECT_EQ(told(o) + o.out, "failed 3word");
}

TEST(Sandbox, TheClockGuards) {
  sandbox::Setup setup = small();
  setup.limits.wall_s = 0.5;
  const Sandbox sandbox(setup);
  EXPECT_EQ(told(sandbox.run(function(wait_for_ever))), "timed_out 137");
  EXPECT_EQ(shell(sandbox, "sleep 60 & sleep 60").reason,
            "wall clock: 0.5 s; the machine was not short of processors (/proc/PID/schedstat)");
  const Outcome waits = sandbox.run(python("import time\ntime.sleep(60)"));
  EXPECT_EQ(waits.reason,
            "wall clock: 0.5 s; the machine was not short of processors (/proc/PID/schedstat)");
  EXPECT_FALSE(waits.starved);
}

TEST(Sandbox, PythonRunsLeaveNothingToTheNext) {
  const Sandbox sandbox(small());
  EXPECT_EQ(
      told(sandbox.run(python(
          "open('/tmp/left', 'w').write('x')\nimport builtins, os, sys\nbuiltins.len = None\nos.environ['LEFT'] = 'x'\nsys.modules['left'] = 1"))),
      "passed 0");
  EXPECT_EQ(
      sandbox
          .run(python(
              "import os, sys\nprint(os.listdir('/tmp'), len('ab'), 'LEFT' in os.environ, 'left' in sys.modules, __name__)"))
          .out,
      "[] 2 False False __main__\n");
}

TEST(Sandbox, ManyAtATime) {
  sandbox::Setup setup = small();
  setup.workers = 3;
  const Sandbox sandbox(setup);
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        const std::string word = std::to_string(t) + "-" + std::to_string(i);
        EXPECT_EQ(sandbox.run(python("print(input())"), word).out, word + "\n");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Sandbox, ALostWorkerCostsOneRun) {
  const Sandbox sandbox(small());
  EXPECT_EQ(told(shell(sandbox, "true")), "passed 0");
  for (const pid_t pid : attacks::descendants(::getpid(), "rollcall-sandbo")) ::kill(pid, SIGKILL);
  const Outcome lost = shell(sandbox, "true");
  EXPECT_EQ(lost.end, End::sandbox_error);
  EXPECT_EQ(lost.reason, "the worker is gone");
  EXPECT_EQ(told(shell(sandbox, "true")), "passed 0");
}

TEST(Sandbox, EndsWithItsProcess) {
  int told_by[2];
  ASSERT_EQ(::pipe(told_by), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    const Sandbox sandbox(small());
    std::thread([&] { sandbox.run(command({"sh", "-c", "sleep 14"})); }).detach();
    ::usleep(200000);
    (void)!::write(told_by[1], "x", 1);
    ::pause();
  }
  char ready = 0;
  ASSERT_EQ(::read(told_by[0], &ready, 1), 1);
  const auto family = attacks::descendants(owner);
  EXPECT_EQ(attacks::descendants(owner, "sleep").size(), 1U);
  EXPECT_GE(family.size(), 4U);  // spawner, worker, first process of the run, shell or sleep
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  const auto alive = [&] {
    std::size_t count = 0;
    for (const auto& process : attacks::processes())
      count += std::size_t(std::count(family.begin(), family.end(), process.pid));
    return count;
  };
  for (int i = 0; i < 100 && alive() > 0; ++i) ::usleep(10000);
  EXPECT_EQ(alive(), 0U);
}

/// What `say` returns in a process of its own.
std::string in_a_process(const std::function<std::string()>& say) {
  int told_by[2];
  EXPECT_EQ(::pipe(told_by), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string said = say();
    (void)!::write(told_by[1], said.data(), said.size());
    ::_exit(0);
  }
  ::close(told_by[1]);
  std::array<char, 4096> said{};
  const ssize_t size = ::read(told_by[0], said.data(), said.size());
  ::close(told_by[0]);
  ::waitpid(child, nullptr, 0);
  return {said.data(), std::size_t(std::max<ssize_t>(size, 0))};
}

std::string what_a_sandbox_says(const char* code, bool allow_landlock) {
  try {
    sandbox::Setup setup = small();
    setup.allow_landlock = allow_landlock;
    const Outcome outcome = Sandbox(setup).run(python(code));
    return std::string(name_of(outcome.tier)) + " " + told(outcome) + outcome.out +
           outcome.err.substr(outcome.err.find_last_of('\n', outcome.err.size() - 2) + 1);
  } catch (const std::exception& e) {
    return e.what();
  }
}

constexpr const char* kReads = "print(len(open('/etc/passwd').read()))";

/// As a plain user, where no user namespaces may be made.
std::string without_namespaces(bool allow_landlock, const char* code = kReads) {
  return in_a_process([allow_landlock, code] {
    if (::unshare(CLONE_NEWUSER) != 0) return std::string("no user namespace");
    std::ofstream("/proc/sys/user/max_user_namespaces") << 0;
    if (give_up_capabilities() != 0 || ::prctl(PR_SET_DUMPABLE, 1) != 0)
      return std::string("no plain user");
    return what_a_sandbox_says(code, allow_landlock);
  });
}

TEST(Sandbox, TheSecondTierServesOnlyWhereItIsAllowed) {
  EXPECT_NE(without_namespaces(false).find("no user namespaces: No space left on device"),
            std::string::npos)
      << without_namespaces(false);
  EXPECT_EQ(without_namespaces(true),
            "landlock failed 1PermissionError: [Errno 13] Permission denied: '/etc/passwd'\n");
}

TEST(Sandbox, TheSecondTiersInterpreterIsClosedToItsPrograms) {
  const char* code = R"(
import os
opened = 0
for pid in range(os.getppid() - 8, os.getppid() + 1):
    for descriptor in range(3, 32):
        try:
            os.open(f'/proc/{pid}/fd/{descriptor}', os.O_RDONLY | os.O_NONBLOCK)
            opened += 1
        except OSError:
            pass
print('', opened, 'opened', end='')
)";
  EXPECT_EQ(without_namespaces(true, code), "landlock passed 0 0 opened");
}

/// A worker that took the -1 of a failed fork for a process would end all processes of its user. In
/// a pid namespace of the test's own, so that it ends no others.
TEST(Sandbox, AForkThatFailsEndsNobody) {
  if (::geteuid() != 0) GTEST_SKIP() << "a user whose processes are counted from none is needed";
  const std::string said = in_a_process([] {
    constexpr unsigned kNobody = 61234;
    if (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
        ::setresuid(kNobody, kNobody, kNobody) != 0)
      return std::string("no other user");
    if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return std::string("no namespaces");
    std::ofstream("/proc/sys/user/max_user_namespaces") << 0;
    return in_a_process([] {  // the first of its pid namespace
      if (give_up_capabilities() != 0 || ::prctl(PR_SET_DUMPABLE, 1) != 0)
        return std::string("no plain user");
      const pid_t bystander = ::fork();
      if (bystander == 0) ::pause();
      const rlimit seven{7, 7};  // two of the test, bystander, spawner, worker, interpreter and its
                                 // checks
      if (::setrlimit(RLIMIT_NPROC, &seven) != 0) return std::string("no limit");
      const std::string outcome = what_a_sandbox_says("print(1)", true);
      return outcome + (::waitpid(bystander, nullptr, WNOHANG) == 0 ? ", nobody ended"
                                                                    : ", the bystander ended");
    });
  });
  EXPECT_EQ(said, "landlock sandbox_error -1, nobody ended");
}

TEST(Sandbox, TheMachinesRootIsRefusedWhereItCanBeNobodyElse) {
  if (!attacks::absent({attacks::machine_capability(CAP_SYS_ADMIN)}).empty())
    GTEST_SKIP() << "not the machine's root";
  const std::string said = in_a_process([] {
    if (::unshare(CLONE_NEWUSER) != 0) return std::string("no user namespace");
    for (const auto& [file, text] :
         {std::pair{"setgroups", "deny"}, {"uid_map", "0 0 1"}, {"gid_map", "0 0 1"}})
      std::ofstream(std::string("/proc/self/") + file) << text;
    return what_a_sandbox_says("", false);
  });
  EXPECT_NE(said.find("the kernel does not limit the processes of this user"), std::string::npos)
      << said;
}

TEST(Sandbox, MountsBeneathTmpAreInNobodysWay) {
  if (!attacks::absent({attacks::mounting()}).empty()) GTEST_SKIP() << "no right to mount";
  EXPECT_EQ(in_a_process([] {
              std::string folder = "/tmp/rollcall-mount-XXXXXX";
              if (::unshare(CLONE_NEWNS) != 0 ||
                  ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                  ::mkdtemp(folder.data()) == nullptr ||
                  ::mount("tmpfs", folder.c_str(), "tmpfs", 0, nullptr) != 0)
                return std::string("no mount");
              std::string said = what_a_sandbox_says("", false);
              ::umount2(folder.c_str(), MNT_DETACH);
              ::rmdir(folder.c_str());
              return said;
            }),
            "namespaces passed 0");
}

TEST(Sandbox, LimitsMustBePositive) {
  sandbox::Setup setup = small();
  setup.limits.output = 0;
  EXPECT_THROW(const Sandbox refused(setup), ConfigError);
}

}  // namespace
}  // namespace rollcall::sandbox
