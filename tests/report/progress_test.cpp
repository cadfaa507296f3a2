// The progress line: never wider than asked, plain in a pipe, a bar on a terminal, and harmless
// when nobody reads.
#include "report/progress.hpp"
#include "report/number_text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

namespace rollcall::report {
namespace {

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, std::size_t(n));
  return text;
}

TEST(NumberText, HandWorked) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(compact(0.123456), "0.1235");
  EXPECT_EQ(compact(12345), "12.3k");
  EXPECT_EQ(compact(std::nan("")), "n/a");
  EXPECT_EQ(duration(4.25), "4.2 s");
  EXPECT_EQ(duration(185), "3 min 05 s");
  EXPECT_EQ(duration(7620), "2 h 07 min");
  EXPECT_EQ(duration(273600), "3 d 04 h");
  EXPECT_EQ(duration(INFINITY), "n/a");
}

TEST(Progress, TextHandWorked) {
  const ProgressState half{"train", 10, 60, 110, 25.0, {{"reward", 0.5}}};
  EXPECT_EQ(progress_bar(half, 200),
            "train [#############...........]  60/110  2 steps/s, 25.0 s left  reward 0.5");
  EXPECT_EQ(progress_bar(half, 16), "train  60/110");
  EXPECT_EQ(progress_bar({"train", 0, 4, 4, 8.0, {}}, 200),
            "train [########################]  4/4  2 s/step, 8.0 s in all");
}

TEST(Progress, CountsWhatItIsOf) {
  const ProgressState prompts{"eval", 0, 60, 110, 25.0, {}, "prompt"};
  EXPECT_NE(progress_line(prompts).find("60/110  2.4 prompts/s"), std::string::npos)
      << progress_line(prompts);
}

TEST(Progress, NeverWiderThanTheTerminalAndAlwaysPrintable) {
  EXPECT_TRUE(rc::check("at most `columns` printable characters", [](const std::string& label,
                                                                     const std::string& name,
                                                                     double value) {
    const auto columns = *rc::gen::inRange<std::size_t>(0, 200);
    const auto total = *rc::gen::inRange<std::int64_t>(-3, 1000);
    const std::string line = progress_bar({label,
                                           0,
                                           *rc::gen::inRange<std::int64_t>(-3, 1000),
                                           total,
                                           value,
                                           {{name, value}, {name, value}}},
                                          columns);
    RC_ASSERT(line.size() <= columns);
    RC_ASSERT(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; }));
  }));
}

TEST(Progress, APipeGetsFewPlainLines) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  {
    Progress p("train", 0, 1000, {.fd = ends[1]});
    for (int i = 1; i <= 1000; ++i) p.update(i, {{"reward", 0.1}});
  }
  ::close(ends[1]);
  const std::string text = read_all(ends[0]);
  ::close(ends[0]);
  // the first and the last; nothing between within ten seconds
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_EQ(text.find_first_of("\r\x1b"), std::string::npos);
  EXPECT_NE(text.find("1000/1000"), std::string::npos);
}

TEST(Progress, AWaitIsSaid) {
  ProgressState long_step{"train", 0, 3, 10, 30.0, {{"reward", 0.5}}};
  long_step.quiet_s = 4.9;
  EXPECT_EQ(progress_line(long_step).find("since"), std::string::npos);
  long_step.quiet_s = 65;
  EXPECT_NE(progress_line(long_step).find(
                "3/10  10 s/step, 1 min 10 s left  1 min 05 s since the last step  reward 0.5"),
            std::string::npos)
      << progress_line(long_step);
}

/// Lines that a pipe gets within two seconds in which nobody calls update().
std::string told_meanwhile(Progress::Output output) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  output.fd = ends[1];
  {
    const Progress p("eval", 0, 100, std::move(output));
    std::this_thread::sleep_for(std::chrono::milliseconds(2300));
  }
  ::close(ends[1]);
  std::string text = read_all(ends[0]);
  ::close(ends[0]);
  return text;
}

TEST(Progress, WorkUnderWayIsLookedAt) {
  std::atomic<std::int64_t> done = 0;
  const std::string text =
      told_meanwhile({.line_interval_s = 0.1, .unit = "rollout", .glimpse = [&] {
                        done += 10;
                        return Progress::Glimpse{done, {{"tokens", double(done) * 7}}};
                      }});
  EXPECT_NE(text.find("10/100"), std::string::npos) << text;
  EXPECT_NE(text.find("30/100"), std::string::npos) << text;
  EXPECT_NE(text.find("tokens 70"), std::string::npos) << text;
  EXPECT_NE(text.find("rollouts/s"), std::string::npos) << text;
}

TEST(Progress, ALogHearsOfAWaitLessAndLessOften) {
  const std::string text = told_meanwhile({.line_interval_s = 0.4});
  const auto lines = std::count(text.begin(), text.end(), '\n');
  EXPECT_GE(lines, 1) << text;
  EXPECT_LE(lines, 3) << text;  // of four looks
  EXPECT_NE(text.find("0/100"), std::string::npos) << text;
}

TEST(Progress, AReaderThatLeavesBreaksNothing) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const auto inherited = ::signal(SIGPIPE, SIG_DFL);  // some launchers ignore it, which would make
                                                      // this test blind
  Progress p("train", 0, 10, {.fd = ends[1], .line_interval_s = 0.0});
  for (int i = 1; i <= 10; ++i) p.update(i, {});  // SIGPIPE would end this program
  ::signal(SIGPIPE, inherited);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
  ::close(ends[1]);
}

TEST(Progress, ATerminalGetsOneLineRedrawnWithinItsWidth) {
  int master = -1, slave = -1;
  const winsize size{24, 50, 0, 0};
  if (::openpty(&master, &slave, nullptr, nullptr, &size) != 0)
    GTEST_SKIP() << "no pseudo-terminals here (is /dev/ptmx missing?)";
  {
    Progress p("train", 0, 5, {.fd = slave, .bar_interval_s = 0.0});
    for (int i = 1; i <= 3; ++i) p.update(i, {{"reward", 0.1}, {"entropy", 0.2}});
  }
  // What was written may come through the terminal in pieces: read up to the destructor's line end,
  // or for two seconds.
  std::string text;
  for (pollfd wait{master, POLLIN, 0};
       text.find('\n') == std::string::npos && ::poll(&wait, 1, 2000) == 1;) {
    char buffer[4096];
    const ssize_t n = ::read(master, buffer, sizeof buffer);
    ASSERT_GT(n, 0);
    text.append(buffer, std::size_t(n));
  }
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);  // the destructor's
  for (std::size_t at = text.find('\r'); at != std::string::npos && text[at + 1] != '\n';) {
    const auto end = text.find("\x1b[K", at);
    ASSERT_NE(end, std::string::npos);
    EXPECT_LE(end - at - 1, 49U);
    at = text.find('\r', end);
  }
  ::close(slave);
  ::close(master);
}

}  // namespace
}  // namespace rollcall::report
