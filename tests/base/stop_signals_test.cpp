// What a stop signal does to a process: at once with code 75, or noted. Each in a process of its
// own, since a signal that has come cannot be taken back.
#include "base/process/stop_signals.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>

namespace rollcall {
namespace {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

constexpr int kStopped = 75, kWrong = 1, kRight = 0;

class StopSignals : public ::testing::Test {
 protected:
  StopSignals() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_JOB_ID"})
      ::unsetenv(variable);
  }
};
using StopSignalsDeathTest = StopSignals;

TEST_F(StopSignalsDeathTest, EndTheProcessWithALineAboutWhatIsLeft) {
  constexpr std::pair<int, const char*> kAll[] = {
      {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGUSR1, "SIGUSR1"}, {SIGHUP, "SIGHUP"}};
  for (const auto& [number, name] : kAll) {
    const auto end = [number = number] {
      end_on_stop_signals("first words");
      end_on_stop_signals("all of \x1b it is kept");
      std::raise(number);
      std::_Exit(kWrong);
    };
    EXPECT_EXIT(end(), ExitedWithCode(kStopped),
                std::string("rollcall: stopped by ") + name + ": all of .u001B it is kept\n");
  }
}

TEST_F(StopSignalsDeathTest, ANoticeLetsShortWorkFinish) {
  const auto end = [](int number) {
    end_on_stop_signals("the rest is left", Ends::on_last_call);
    std::raise(SIGUSR1), std::raise(SIGHUP);
    if (stop_signal() != "SIGHUP") std::_Exit(kWrong);
    std::raise(number);
    std::_Exit(kRight);
  };
  EXPECT_EXIT(end(SIGTERM), ExitedWithCode(kStopped), "stopped by SIGTERM: the rest is left");
  EXPECT_EXIT(end(SIGUSR1), ExitedWithCode(kRight), "");
}

TEST_F(StopSignalsDeathTest, AFailureKeepsItsCodeAndItsWordIsTheLast) {
  const auto end = [] {
    end_on_stop_signals("nothing is lost");
    end_as_failed(ExitCode::misconfigured);
    std::raise(SIGTERM);
    std::_Exit(kRight);
  };
  EXPECT_EXIT(end(), ExitedWithCode(int(ExitCode::misconfigured)), "^$");
  const auto end_noting = [](int number) {
    note_stop_signals();
    end_as_failed(ExitCode::misconfigured);
    std::raise(number), std::raise(number);
    std::_Exit(kRight);
  };
  for (const int number : {SIGINT, SIGTERM})
    EXPECT_EXIT(end_noting(number), ExitedWithCode(int(ExitCode::misconfigured)), "^$");
}

TEST_F(StopSignalsDeathTest, AreNotedWithTheirTimes) {
  const auto note = [] {
    note_stop_signals();
    if (stop_signal() || signal_times().last_call_s < signal_clock_s()) std::_Exit(kWrong);
    std::raise(SIGUSR1), std::raise(SIGTERM);
    const SignalTimes came = signal_times();
    std::_Exit(stop_signal() == "SIGTERM" && came.notice_s <= came.last_call_s &&
                       came.last_call_s <= signal_clock_s()
                   ? kRight
                   : kWrong);
  };
  EXPECT_EXIT(note(), ExitedWithCode(kRight), "");
}

TEST_F(StopSignalsDeathTest, ASecondOneEndsTheProcess) {
  const auto twice = [](int first, int second) {
    note_stop_signals();
    std::raise(first), std::raise(second);
    std::_Exit(kRight);
  };
  EXPECT_EXIT(twice(SIGINT, SIGINT), KilledBySignal(SIGINT), "rollcall: ended by a second SIGINT");
  EXPECT_EXIT(twice(SIGTERM, SIGTERM), KilledBySignal(SIGTERM),
              "rollcall: ended by a second SIGTERM");
  EXPECT_EXIT(twice(SIGUSR1, SIGUSR1), ExitedWithCode(kRight), "");
  EXPECT_EXIT(twice(SIGUSR1, SIGTERM), ExitedWithCode(kRight), "")
      << "the usual course under Slurm";
  ::setenv("SLURM_JOB_ID", "7", 1);
  EXPECT_EXIT(twice(SIGTERM, SIGTERM), ExitedWithCode(kRight), "") << "Slurm sends several";
  ::unsetenv("SLURM_JOB_ID");
}

TEST_F(StopSignalsDeathTest, OneOfManyRanksSpeaks) {
  const auto silent = [] {
    ::setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    int ends[2];
    if (::pipe(ends) != 0) std::_Exit(kWrong);
    const pid_t rank = ::fork();
    if (rank == 0) {
      ::dup2(ends[1], STDERR_FILENO);
      end_on_stop_signals("nothing");
      std::raise(SIGTERM);
      std::_Exit(kWrong);
    }
    ::close(ends[1]);
    char byte = 0;
    int status = 0;
    const bool said = ::read(ends[0], &byte, 1) > 0;
    ::waitpid(rank, &status, 0);
    std::_Exit(!said && WIFEXITED(status) && WEXITSTATUS(status) == kStopped ? kRight : kWrong);
  };
  EXPECT_EXIT(silent(), ExitedWithCode(kRight), "");
}

TEST_F(StopSignalsDeathTest, AForkedChildDiesOfTheSignal) {
  const auto forks = [] {
    end_on_stop_signals("the parent's words");
    const pid_t child = ::fork();
    if (child == 0) {
      std::raise(SIGTERM);
      std::_Exit(kWrong);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::_Exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? kRight : kWrong);
  };
  EXPECT_EXIT(forks(), ExitedWithCode(kRight), "^$");
}

TEST_F(StopSignalsDeathTest, NohupIsRespected) {
  const auto outlives = [] {
    std::signal(SIGHUP, SIG_IGN);
    end_on_stop_signals("nothing");
    std::raise(SIGHUP);
    std::_Exit(kRight);
  };
  EXPECT_EXIT(outlives(), ExitedWithCode(kRight), "");
}

}  // namespace
}  // namespace rollcall
