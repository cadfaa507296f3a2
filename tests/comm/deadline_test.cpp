// Deadlines of waits: a process that is suspended loses no time, and neither do those that wait for
// one that was.
#include "comm/deadline.hpp"

#include "comm/timed_call.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace rollcall::comm {
namespace {

void rest(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Waits to the end as a rank does; how long that took by the deadline's own account.
double wait_out(Deadline& deadline) {
  while (!deadline.is_over()) rest(0.005);
  return deadline.waited_s();
}

/// The exit code of a child that works while it is suspended from the first tenth of a second on.
template <class Work>
int suspended(double seconds, Work work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  rest(0.1);
  ::kill(child, SIGSTOP);
  rest(seconds);
  ::kill(child, SIGCONT);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

struct Told {
  explicit Told(Standstills known) { ask_about_standstills(std::move(known)); }
  ~Told() { ask_about_standstills({}); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
};

TEST(Deadline, EndsAtItsTime) {
  Deadline deadline(0.2);
  const double took = wait_out(deadline);
  EXPECT_GE(took, 0.2);
  EXPECT_LT(took, 2.0);
}

TEST(Deadline, ASuspendedProcessLosesNoTime) {
  const int code = suspended(1.6, [] {
    const Stopwatch whole;
    Deadline deadline(0.5);
    return wait_out(deadline) >= 0.5 && whole.seconds() >= 1.9 ? 7 : 8;
  });
  EXPECT_EQ(code, 7) << "0.5 s of its own and 1.6 s that it stood still";
}

TEST(Deadline, WhatAnotherRankStoodStillIsAdded) {
  double asked_s = 0.0;
  const Told told([&](double since_s) { return asked_s = since_s, 0.3; });
  Deadline deadline(0.2);
  EXPECT_GE(wait_out(deadline), 0.5);
  EXPECT_GE(asked_s, 0.2);
  deadline.renew();
  EXPECT_LT(deadline.spent(), 0.5) << "it begins anew";
}

TEST(Deadline, ASuspensionOfAllCountsOnce) {
  const int code = suspended(1.6, [] {
    const Told told([](double) { return 1.6; });
    const Stopwatch whole;
    Deadline deadline(0.5);
    wait_out(deadline);
    return whole.seconds() < 3.0 ? 7 : 8;
  });
  EXPECT_EQ(code, 7);
}

TEST(TimedCall, AnAlarmFromOutsideEndsNothing) {
  const int code = suspended(0.1, [] {
    const TimedCall guard(30.0, "a test");
    for (int i = 0; i < 5; ++i) ::kill(::getpid(), SIGALRM);
    return 7;
  });
  EXPECT_EQ(code, 7);
}

TEST(TimedCall, ASuspendedCallHasItsWholeTime) {
  const int code = suspended(2.0, [] {
    const TimedCall guard(0.8, "a test");
    rest(0.3);
    return 7;
  });
  EXPECT_EQ(code, 7);
}

/// The words of a call are written by whoever makes it: two at the same time would write the same.
TEST(TimedCall, ManyThreadsMakeOneAtATime) {
  const int code = suspended(0.0, [] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([what = std::string(std::size_t(40 + 200 * t), 'a')] {
        for (int i = 0; i < 4000; ++i) const TimedCall guard(30.0, what, {what, what});
      });
    for (auto& thread : threads) thread.join();
    return 7;
  });
  EXPECT_EQ(code, 7);
}

TEST(TimedCall, ACallThatLastsTooLongEndsTheProcess) {
  const int code = suspended(0.0, [] {
    ::close(STDERR_FILENO);
    const TimedCall guard(0.3, "a test");
    rest(20.0);
    return 7;
  });
  EXPECT_EQ(code, 3);
}

}  // namespace
}  // namespace rollcall::comm
