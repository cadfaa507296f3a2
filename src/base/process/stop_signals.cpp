// One handler for all signals, which calls only functions that POSIX allows in a signal handler.
#include "base/process/stop_signals.hpp"

#include "base/errors/visible.hpp"
#include "base/process/launcher_rank.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace rollcall {
namespace {

enum Mode : int { kEndsOnAny, kEndsOnLastCall, kNotes };

constexpr std::array kSignals{SIGUSR1, SIGTERM, SIGINT, SIGHUP};
constexpr std::size_t kLongest = 480;  // bytes of the text about what is left
using Text = std::array<char, kLongest + 1>;

std::array<char, 4096> failure_file;  // its path, of at most PATH_MAX bytes
std::atomic<bool> has_failure_file{false};
std::array<Text, 2> texts;  // one is written while the handler may read the other one
std::atomic<const char*> left{nullptr};
std::atomic<int> mode{kNotes}, caught{0}, exit_code{int(ExitCode::requeue)};
// The process that installed the handler. A child between fork and exec inherits the handler and
// must stay silent.
std::atomic<pid_t> owner{0};
std::atomic<bool> speaks{true}, on_terminal{false}, in_slurm{false}, has_failed{false};
std::atomic<double> noticed_s{SignalTimes{}.notice_s}, called_s{SignalTimes{}.last_call_s};
static_assert(std::atomic<double>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free);

const char* name_of(int number) {
  switch (number) {
    case SIGUSR1: return "SIGUSR1";
    case SIGTERM: return "SIGTERM";
    case SIGHUP: return "SIGHUP";
    default: return "SIGINT";
  }
}

bool is_last_call(int number) { return number == SIGTERM || number == SIGINT; }

/// Prints in one write, since other processes write to the same place.
void say(const char* before, int number, const char* after) {
  if (!speaks || (has_failure_file && ::access(failure_file.data(), F_OK) == 0)) return;
  std::array<char, kLongest + 128> line;
  std::size_t size = 0;
  const auto add = [&](const char* text) {
    const std::size_t bytes = std::min(std::strlen(text), line.size() - size);
    std::memcpy(line.data() + size, text, bytes);
    size += bytes;
  };
  if (on_terminal) add("\n");  // the terminal has shown ^C
  add("rollcall: "), add(before), add(name_of(number)), add(after), add("\n");
  (void)!::write(STDERR_FILENO, line.data(), size);
}

void die_of(int number) {
  std::signal(number, SIG_DFL);
  std::raise(number);  // takes effect once the handler has returned
}

void on_signal(int number) {
  const int before = errno;
  if (::getpid() != owner) return die_of(number);
  const int how = mode;
  if (how == kEndsOnAny || (how == kEndsOnLastCall && is_last_call(number))) {
    say("stopped by ", number, left);
    ::_exit(exit_code);
  }
  auto& came_s = is_last_call(number) ? called_s : noticed_s;
  if (came_s == SignalTimes{}.notice_s) came_s = signal_clock_s();
  if (caught == number && (number == SIGINT || (number == SIGTERM && !in_slurm))) {
    if (has_failed) ::_exit(exit_code);
    say("ended by a second ", number, "");
    die_of(number);
  }
  caught = number;
  errno = before;
}

void take_over() {
  if (owner == ::getpid()) return;
  speaks = is_first_rank(), on_terminal = ::isatty(STDERR_FILENO) == 1,
  in_slurm = std::getenv("SLURM_JOB_ID") != nullptr;
  owner = ::getpid();
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigset_t ours;
  sigemptyset(&ours);
  for (const int number : kSignals) {
    struct sigaction inherited = {};
    ::sigaction(number, nullptr, &inherited);
    // nohup asks for the run to outlive its terminal
    if (number == SIGHUP && inherited.sa_handler == SIG_IGN) continue;
    ::sigaction(number, &action, nullptr);
    sigaddset(&ours, number);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);  // an inherited mask would block them forever
}

}  // namespace

void end_on_stop_signals(std::string_view what, Ends which) {
  Text& text = texts[left == texts[0].data() ? 1 : 0];
  const std::string shown = ": " + visible(what);
  const std::size_t bytes = std::min(shown.size(), kLongest);
  std::memcpy(text.data(), shown.data(), bytes);
  text[bytes] = '\0';
  left = text.data();
  mode = which == Ends::on_any ? kEndsOnAny : kEndsOnLastCall;
  take_over();
}

void stay_silent_beside(const std::filesystem::path& file) {
  const std::string name = std::filesystem::absolute(file).string();
  has_failure_file = false;
  if (name.size() >= failure_file.size()) return;
  failure_file.fill('\0');
  std::copy(name.begin(), name.end(), failure_file.begin());
  has_failure_file = true;
}

void end_as_failed(ExitCode code) {
  speaks = false;
  exit_code = int(code);
  has_failed = true;
}

void note_stop_signals() {
  mode = kNotes;
  take_over();
}

std::optional<std::string> stop_signal() {
  const int number = caught;
  return number == 0 ? std::nullopt : std::optional<std::string>(name_of(number));
}

SignalTimes signal_times() { return {noticed_s, called_s}; }

double signal_clock_s() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

}  // namespace rollcall
