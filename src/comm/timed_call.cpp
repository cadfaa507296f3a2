// The interval timer and its signal handler, which may call only what signal handlers may.
#include "comm/timed_call.hpp"

#include "base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <mutex>

namespace rollcall::comm {
namespace {

constexpr unsigned kSilence_s = 5;  // for the rank that speaks
std::array<char, 512> message{};
std::array<char, 4096> failure_file{};
bool running = false;

template <std::size_t N>
void keep(std::array<char, N>& place, const std::string& text) {
  const std::size_t count = std::min(text.size(), N - 1);
  std::copy_n(text.data(), count, place.begin());
  place[count] = '\0';
}

/// A message that cannot be written is lost: nothing else can be done in a signal handler.
void say(int fd, const char* text) {
  if (fd < 0 || ::write(fd, text, std::strlen(text)) < 0) return;
}

void on_alarm(int) {
  const int fd = failure_file[0] == '\0' ? -1 : ::open(failure_file.data(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0 && failure_file[0] != '\0' && errno == EEXIST) {
    ::sleep(kSilence_s);
    ::_exit(int(ExitCode::failed));
  }
  say(fd, message.data());
  say(STDERR_FILENO, "rollcall: ");
  say(STDERR_FILENO, message.data());
  ::_exit(int(ExitCode::failed));
}

void set_timer(double seconds) {
  const double whole = std::floor(seconds);
  const itimerval value{{0, 0}, {time_t(whole), suseconds_t((seconds - whole) * 1e6)}};
  ::setitimer(ITIMER_REAL, &value, nullptr);
}

}  // namespace

TimedCall::TimedCall(double deadline_s, const std::string& what) : owner_(!running) {
  if (!owner_) return;
  running = true;
  keep(message, error_message(fmt::format("process {} has been in {} for {:.3g} s", ::getpid(), what, deadline_s), "a rank that should take part is stuck or has ended",
                              "look for the rank whose log stops first, or raise run.deadline_s") + "\n");
  struct sigaction action = {};
  action.sa_handler = on_alarm;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  set_timer(std::max(deadline_s, 1e-3));
}

TimedCall::~TimedCall() {
  if (!owner_) return;
  set_timer(0);
  running = false;
}

void TimedCall::note_failure_in(const std::filesystem::path& file) {
  static std::mutex one_rank;  // ranks may be threads of one process
  const std::lock_guard lock(one_rank);
  keep(failure_file, file.string());
}

}  // namespace rollcall::comm
