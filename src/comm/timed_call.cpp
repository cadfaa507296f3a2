// The interval timer and its signal handler, which may call only async-signal-safe functions.
// end_process, which may call more, prints its message the same way.
#include "comm/timed_call.hpp"

#include "base/errors/error.hpp"
#include "base/time/attended_clock.hpp"
#include "comm/communicator.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace rollcall::comm {
namespace {

constexpr unsigned kPatience_s = 2;  // how long the handler waits for the marks of other ranks,
                                     // whose timers began within moments of each other
constexpr unsigned kSilence_s = kPatience_s + 8;  // how long the other ranks give the rank that
                                                  // prints, which gives its file writers up to 5 s
constexpr unsigned kEnd_s = kSilence_s + 10;
constexpr std::size_t kNamed = 6;
// What the handler needs is prepared in advance, because a handler may not allocate memory.
std::string stuck, advice, failure_file, roll_file;
std::vector<std::string> named;  // [ranks] names; empty for a rank that does not take part
int own_rank = -1;
std::atomic_flag claimed = ATOMIC_FLAG_INIT;  // set while a timed call runs, in any thread
std::atomic<bool> running = false;            // all that the handler needs is prepared
/// How long the call may last, how often the handler looks, and by which clock [s].
double longest_s = 0.0, tick_s = 0.0;
AttendedClock call_clock(0.0);
std::atomic_flag looking = ATOMIC_FLAG_INIT;  // set while a handler runs; signals may reach several
                                              // threads

/// The message, which the handler puts together and writes at once. Anything that does not fit is
/// cut off.
struct Message {
  std::array<char, 4096> text{};
  std::size_t size = 0;
  void add(const char* part) {
    const std::size_t count = std::min(std::strlen(part), text.size() - 1 - size);
    std::copy_n(part, count, text.begin() + std::ptrdiff_t(size));
    size += count;
  }
  /// A message that cannot be written is lost, because a signal handler can do nothing else.
  void write_to(int fd) const {
    if (fd < 0 || ::write(fd, text.data(), size) < 0) return;
  }
};

void sign_the_roll() {
  // O_SYNC, because the client of a network file system would otherwise write a whole page and so
  // erase the marks of other nodes.
  const int fd = roll_file.empty()
                     ? -1
                     : ::open(roll_file.c_str(), O_WRONLY | O_CREAT | O_SYNC | O_CLOEXEC, 0644);
  if (fd < 0 || ::pwrite(fd, "+", 1, own_rank) < 0)
    return;  // add_who_is_missing notices its
             // absence
  ::close(fd);
}

bool has_signed(int roll, std::size_t rank) {
  char mark = 0;
  return ::pread(roll, &mark, 1, off_t(rank)) == 1 && mark == '+';
}

void add_who_is_missing(Message& message) {
  const int fd =
      roll_file.empty() || named.empty() ? -1 : ::open(roll_file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || !has_signed(fd, std::size_t(own_rank)))
    return message.add("a rank that should take part is stuck or has ended");
  std::size_t missing = 0;
  for (std::size_t rank = 0; rank < named.size() && missing <= kNamed; ++rank) {
    if (named[rank].empty() || has_signed(fd, rank)) continue;
    if (missing > 0) message.add(", ");
    message.add(missing == kNamed ? "others" : named[rank].c_str());
    ++missing;
  }
  ::close(fd);
  message.add(
      missing == 0
          ? "all who take part are still in it: it is slow, or the file system does not answer"
      : missing == 1 ? " does not answer: stopped, dead, in its disk or held up before it"
                     : " do not answer: stopped, dead, in their disks or held up before it");
}

/// Sleeps for all of `seconds`, although a signal such as SIGCONT ends a single call of sleep().
void rest(unsigned seconds) {
  while (seconds > 0) seconds = ::sleep(seconds);
}

/// Makes the next alarm end this process silently, because the file system that holds the marks may
/// hang as well.
void limit_this_end() {
  sigset_t alarm_signal;
  sigemptyset(&alarm_signal), sigaddset(&alarm_signal, SIGALRM);
  std::signal(SIGALRM, SIG_DFL);
  sigprocmask(SIG_UNBLOCK, &alarm_signal, nullptr);
  ::alarm(kEnd_s);
}

/// Creates the failure file; returns -1 if it cannot be written. If the file is there, another
/// rank has printed the error and is about to end this one, so this function does not return.
int first_to_speak() {
  const int fd = failure_file.empty()
                     ? -1
                     : ::open(failure_file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd >= 0 || failure_file.empty() || errno != EEXIST) return fd;
  rest(kSilence_s);
  ::_exit(int(ExitCode::failed));
}

void speak(const Message& message, int failure) {
  message.write_to(failure);
  Message spoken;
  spoken.add("rollcall: ");
  spoken.add(message.text.data());
  spoken.write_to(STDERR_FILENO);
}

void set_timer(double seconds) {
  const double whole = std::floor(seconds);
  const itimerval value{{0, 0}, {time_t(whole), suseconds_t((seconds - whole) * 1e6)}};
  ::setitimer(ITIMER_REAL, &value, nullptr);
}

/// An alarm may come from outside, or late because the process was suspended, so the clock decides.
bool is_in_time() {
  if (!running) return true;
  const double left_s = longest_s - call_clock.seconds();
  if (left_s > 0) set_timer(std::clamp(left_s, 1e-3, tick_s));
  return left_s > 0;
}

void on_alarm(int) {
  const int error = errno;
  if (looking.test_and_set()) return;
  if (is_in_time()) {
    looking.clear();
    errno = error;
    return;
  }
  limit_this_end();
  sign_the_roll();
  const int failure = first_to_speak();
  if (!named.empty()) rest(kPatience_s);
  Message message;
  message.add(stuck.c_str());
  add_who_is_missing(message);
  message.add(advice.c_str());
  speak(message, failure);
  ::_exit(int(ExitCode::failed));
}

}  // namespace

TimedCall::TimedCall(double deadline_s, const std::string& what,
                     const std::vector<std::string>& parties)
    : owner_(!claimed.test_and_set()) {
  if (!owner_) return;
  constexpr double kLongestTick_s = 30.0, kLongestLate_s = 10.0;
  longest_s = std::max(deadline_s, 1e-3), tick_s = std::clamp(deadline_s / 4, 1e-3, kLongestTick_s);
  call_clock = AttendedClock(tick_s + std::clamp(deadline_s / 2, 1.0, kLongestLate_s));
  named = parties;
  const std::string who =
      own_rank >= 0 ? fmt::format("rank {}", own_rank) : fmt::format("process {}", ::getpid());
  stuck = fmt::format("{} has been in {} for {:.3g} s (", who, what, deadline_s);
  advice = "); look for the rank whose log stops first, or raise run.deadline_s\n";
  struct sigaction action = {};
  action.sa_handler = on_alarm;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  running = true;
  (void)is_in_time();  // sets the timer
}

TimedCall::~TimedCall() {
  if (!owner_) return;
  running = false;
  set_timer(0);
  claimed.clear();
}

void end_process(const std::string& message) {
  limit_this_end();  // Stops a running TimedCall. Neither a hanging file system nor a launcher that
                     // is gone may keep this rank alive.
  const int failure = first_to_speak();
  Message whole;
  whole.add(fmt::format("{}{}\n", own_rank >= 0 ? fmt::format("rank {}: ", own_rank) : "", message)
                .c_str());
  speak(whole, failure);
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, int(ExitCode::failed));
  ::_exit(int(ExitCode::failed));  // MPI_Abort may return when the launcher is gone
}

void TimedCall::note_failure_in(const std::filesystem::path& file, int rank) {
  static std::mutex one_rank;  // because ranks may be threads of one process
  const std::lock_guard lock(one_rank);
  failure_file = file.string(), roll_file = failure_file + ".roll", own_rank = rank;
}

}  // namespace rollcall::comm
