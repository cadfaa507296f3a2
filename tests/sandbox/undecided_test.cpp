// No program can choose to be left undecided: whatever it does has an end that is its own. What a
// machine does to it has not.
#include "sandbox/sandbox.hpp"
#include "sandbox/usage.hpp"

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <map>
#include <vector>

namespace rollcall::sandbox {
namespace {

sandbox::Setup quick(double wall_s) {
  return {.limits = {.cpu_s = 1,
                     .wall_s = wall_s,
                     .memory = 128 << 20,
                     .output = 1 << 16,
                     .files = 1 << 20,
                     .processes = 8},
          .workers = 1};
}

/// Its end is its own. Where this machine is so busy that it starves a run, a longer wall clock
/// shows it.
testing::AssertionResult is_decided(const Program& program) {
  static std::map<double, Sandbox> sandboxes;
  std::string said;
  for (const double wall_s : {0.25, 2.0, 8.0, 32.0}) {
    const Outcome o = sandboxes.try_emplace(wall_s, quick(wall_s)).first->second.run(program);
    if (o.end == End::passed) return testing::AssertionFailure() << "it passed";
    if (o.end != End::sandbox_error && !o.starved) return testing::AssertionSuccess();
    said = o.reason;
  }
  return testing::AssertionFailure() << said;
}

constexpr const char* kMuchTogether =
    "import os, time\nfor i in range(6):\n  if os.fork() == 0:\n    x = b'x' * (40 << 20)\n    time.sleep(99)\ntime.sleep(99)";

constexpr const char* kPrograms[] = {
    "import time\ntime.sleep(99)",
    "import os\nos.read(os.pipe()[0], 1)",
    // more than a tenth of the clock, less than its limit
    "import time\nwhile time.process_time() < 0.1: pass\ntime.sleep(99)",
    // they wait for each other
    "import os, time\nfor i in range(6):\n  if os.fork() == 0:\n    while True: pass\ntime.sleep(99)",
    kMuchTogether,
    "import os, signal\nos.kill(0, signal.SIGSTOP)\nos.kill(os.getpid(), signal.SIGSTOP)\nraise SystemExit(1)",
    "import os, signal\nos.kill(-1, signal.SIGKILL)",
    "import os\nfor d in range(3, 99):\n  try: os.write(d, b'broken: x')\n  except OSError: pass\nraise SystemExit(1)",
    "import os\nos.closerange(0, 99)\nraise SystemExit(1)",
    "import os\nwhile True: os.fork()",
    "while True: print('x' * 9999)",
    "import ctypes\nctypes.string_at(0)",
    "import os\nos.abort()",
    "import os\nos._exit(86)",
    "import os\nos._exit(87)",
    "import signal\nfor s in range(1, 64):\n  try: signal.signal(s, signal.SIG_IGN)\n  except (OSError, ValueError): pass\nwhile True: pass",
    "x = bytearray(10**10)",
    "def f(x): return f(x)\nf(1)",
};

constexpr const char* kScripts[] = {
    "sleep 99",
    "kill -STOP $$",
    "kill -9 $PPID; exit 1",
    "kill -9 -1",
    "f() { f | f & }; f; sleep 99",
    "for d in 3 4 5 6 7 8 9; do echo broken: >&$d; done; exit 1",
    "exec cat /dev/zero",
};

TEST(Undecided, IsNoProgramsChoice) {
  for (const char* code : kPrograms) EXPECT_TRUE(is_decided(python(code))) << code;
  for (const char* script : kScripts)
    EXPECT_TRUE(is_decided(command({"sh", "-c", script}))) << script;
  EXPECT_TRUE(is_decided(python("import time\ndef f(x):\n  time.sleep(99)", "assert f(1) == 1")));
  EXPECT_TRUE(is_decided(
      python("import os\nos.read(4, 1 << 20)\nos.read(4, 1 << 20)", "assert f(1) == 1")));
}

TEST(Undecided, MemoryOfAllProcessesIsTheRuns) {
  const Outcome o = Sandbox(quick(15)).run(python(kMuchTogether));
  EXPECT_EQ(std::string(name_of(o.end)) + " " + o.reason,
            "out_of_memory memory of all its processes: 134217728 bytes");
}

/// By hand, with a limit of 5 s of processor time and a wall clock of 20 s.
TEST(Undecided, ShortageOfProcessors) {
  const auto starved = [](double cpu_s, std::optional<double> waited_s,
                          std::optional<double> pressure, double late_s = 0.0) {
    Waiting waiting{std::nullopt, std::max(late_s, waited_s.value_or(0.0)), pressure};
    if (waited_s) waiting.usage = Usage{cpu_s, *waited_s, 0, 1};
    return shortage_of(waiting, 0.1, 5, 20).starved;
  };
  EXPECT_FALSE(starved(0.1, 0.0, {}));       // it slept
  EXPECT_FALSE(starved(2.5, 9.9, {}));       // it slept for 7.6 s
  EXPECT_TRUE(starved(2.5, 10.0, {}));       // half of the clock
  EXPECT_FALSE(starved(5.0, 15.0, {}));      // it has had all that it may use
  EXPECT_TRUE(starved(0.1, 0.0, {}, 10.0));  // the worker itself did not get on
  EXPECT_TRUE(starved(0.0, {}, 50.0));
  EXPECT_FALSE(starved(0.0, {}, 49.0));
  EXPECT_FALSE(starved(0.0, {}, {}));
  EXPECT_TRUE(shortage_of({}, 2.0, 5, 20).starved);  // where the kernel tells nothing, as ever: a
                                                     // tenth of the clock
  EXPECT_FALSE(shortage_of({}, 5.0, 5, 20).starved);
}

/// What eight others leave of one processor: each in a session of its own, between which Linux may
/// share it out.
int run_beside_others() {
  cpu_set_t now, one;
  CPU_ZERO(&one);
  if (::sched_getaffinity(0, sizeof now, &now) != 0) return 77;
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &now)) CPU_SET(core, &one);
  }
  if (::sched_setaffinity(0, sizeof one, &one) != 0) return 77;
  sandbox::Setup setup = quick(1.0);
  setup.limits.cpu_s = 3;
  const Sandbox sandbox(setup);
  (void)sandbox.run(python("pass"));  // its interpreter has started
  std::vector<pid_t> others;
  for (int i = 0; i < 8; ++i) {
    others.push_back(::fork());
    if (others.back() != 0) continue;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setsid();
    for (volatile bool forever = true; forever;) continue;
  }
  const Outcome o = sandbox.run(python("while True: pass"));
  for (const pid_t other : others) ::kill(other, SIGKILL), ::waitpid(other, nullptr, 0);
  const bool ok =
      o.end == End::timed_out && o.starved &&
      o.reason == "wall clock: 1 s; the machine was short of processors (/proc/PID/schedstat)";
  if (!ok)
    std::printf("%s %d %s, %.2f s\n", name_of(o.end), o.starved, o.reason.c_str(),
                double(o.counts.cpu_us) * 1e-6);
  std::fflush(stdout);
  return ok ? 0 : 1;
}

TEST(Undecided, AMachineThatStarvesARunDecidesNothing) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run_beside_others());
  int status = 1;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "this process cannot be bound to one processor";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace rollcall::sandbox
