// Makes the text of a progress line and writes it to a terminal, a file or a pipe.
#include "report/progress.hpp"

#include "report/number_text.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <system_error>
#include <utility>

namespace rollcall::report {
namespace {

constexpr std::size_t kBarWidth = 24, kNarrowest = 20;
constexpr double kQuiet_s = 5.0;  // after this time without progress a reader begins to wonder
constexpr auto kLook = std::chrono::milliseconds(500);

// One character per column: any character that a terminal might draw wider or narrower, or take as
// a command, becomes '?'.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) out += c >= ' ' && c <= '~' ? c : '?';
  return out;
}

double steps_per_second(const ProgressState& s) {
  return s.elapsed_s > 0 ? double(s.done - s.first) / s.elapsed_s : 0.0;
}

std::string pace(const ProgressState& s) {
  const double rate = steps_per_second(s);
  if (rate <= 0) return "--";
  const std::string speed = rate >= 1 ? fmt::format("{} {}s/s", compact(rate), s.unit)
                                      : fmt::format("{} s/{}", compact(1 / rate), s.unit);
  return s.done >= s.total
             ? fmt::format("{}, {} in all", speed, duration(s.elapsed_s))
             : fmt::format("{}, {} left", speed, duration(double(s.total - s.done) / rate));
}

std::vector<std::string> pieces(const ProgressState& s) {
  std::vector<std::string> parts = {plain(s.label), fmt::format("{}/{}", s.done, s.total), pace(s)};
  if (s.quiet_s >= kQuiet_s)
    parts.push_back(fmt::format("{} since the last {}", duration(s.quiet_s), s.unit));
  for (const auto& [name, value] : s.numbers)
    parts.push_back(fmt::format("{} {}", plain(name), compact(value)));
  return parts;
}

std::string bar(const ProgressState& s) {
  const double share = s.total > 0 ? std::clamp(double(s.done) / double(s.total), 0.0, 1.0) : 0.0;
  const auto full = std::size_t(share * kBarWidth);
  return fmt::format("[{}{}]", std::string(full, '#'), std::string(kBarWidth - full, '.'));
}

// A write to a pipe without a reader raises SIGPIPE, which would end the job. The signal is blocked
// for this thread here, and removed if this write raised it.
ssize_t write_quietly(int fd, const char* bytes, std::size_t size) {
  sigset_t pipe_signal, before, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t n = ::write(fd, bytes, size);
  const int error = errno;
  const timespec at_once{};
  if (n < 0 && error == EPIPE && !was_pending) sigtimedwait(&pipe_signal, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return n;
}

/// mpirun gives its ranks a terminal as standard output, even if its own output is a file, and a
/// pipe as standard error. Therefore standard error must be a terminal as well.
bool is_terminal(int fd) {
  return ::isatty(fd) == 1 && (fd != STDOUT_FILENO || ::isatty(STDERR_FILENO) == 1);
}

std::size_t columns_of(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string progress_bar(const ProgressState& state, std::size_t columns) {
  const auto parts = pieces(state);
  std::string line = parts[0];
  if (columns >= kNarrowest + kBarWidth + line.size()) line += fmt::format(" {}", bar(state));
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (line.size() + parts[i].size() + 2 > columns) break;  // parts after the first are never cut
    line += fmt::format("  {}", parts[i]);
  }
  return line.substr(0, columns);
}

std::string progress_line(const ProgressState& state) {
  return progress_bar(state, std::numeric_limits<std::size_t>::max());
}

ProgressSink::ProgressSink(int fd) : fd_(fd), terminal_(report::is_terminal(fd)) {}

void ProgressSink::show(const ProgressState& state) {
  if (!terminal_) return write(progress_line(state) + "\n");
  // One column stays free, because some terminals wrap when the last one is written. "\x1b[K"
  // clears the rest of a longer previous line.
  open_ = state.done < state.total;
  write(fmt::format("\r{}\x1b[K{}",
                    progress_bar(state, std::max<std::size_t>(columns_of(fd_), 2) - 1),
                    open_ ? "" : "\n"));
}

void ProgressSink::end_bar() {
  if (open_) write("\n");
}

void ProgressSink::write(const std::string& text) {
  for (std::size_t at = 0; at < text.size() && !silent_;) {
    const ssize_t n = write_quietly(fd_, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    silent_ = n <= 0;  // the reader is gone or the disk is full; the job must not end because of
                       // that
    if (n > 0) at += std::size_t(n);
  }
}

Progress::Progress(std::string label, std::int64_t first, std::int64_t total)
    : Progress(std::move(label), first, total, Output{}) {}

Progress::Progress(std::string label, std::int64_t first, std::int64_t total, Output output)
    : output_(std::move(output)), sink_(output_.fd), next_quiet_s_(output_.line_interval_s) {
  state_.label = std::move(label);
  state_.first = state_.done = first;
  state_.total = total;
  state_.unit = output_.unit;
  if (sink_.is_terminal() && first < total) show();
  try {
    watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  } catch (const std::system_error&) {  // without a thread, only update() shows progress
  }
}

Progress::~Progress() {
  watcher_.request_stop();
  if (watcher_.joinable()) watcher_.join();
  sink_.end_bar();
}

void Progress::update(std::int64_t done, const NamedNumbers& numbers) {
  const std::lock_guard lock(mutex_);
  state_.done = std::max(done, state_.done);
  state_.numbers = numbers;
  state_.elapsed_s = moved_at_s_ = clock_.seconds();
  state_.quiet_s = 0.0;
  next_quiet_s_ = output_.line_interval_s;
  const double interval = sink_.is_terminal() ? output_.bar_interval_s : output_.line_interval_s;
  if (shown_ && state_.done < state_.total && state_.elapsed_s - shown_at_s_ < interval) return;
  shown_ = true;
  show();
}

void Progress::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, stop, kLook, [] { return false; }) && !stop.stop_requested())
    if (state_.done < state_.total) look();
}

/// Called under the lock. Redraws a bar. A log gets a line if the work has moved and its last line
/// is old enough, or if the work has not moved for a long time.
void Progress::look() {
  const double now_s = clock_.seconds();
  bool moved = false;
  if (output_.glimpse) {
    Glimpse seen = output_.glimpse();
    moved = seen.done > state_.done;
    if (moved)
      state_.done = std::min(seen.done, state_.total), state_.elapsed_s = moved_at_s_ = now_s;
    if (!seen.numbers.empty()) state_.numbers = std::move(seen.numbers);
  }
  state_.quiet_s = now_s - moved_at_s_;
  if (moved) next_quiet_s_ = output_.line_interval_s;
  const bool quiet = state_.quiet_s >= next_quiet_s_;
  if (!sink_.is_terminal() && !quiet && !(moved && now_s - shown_at_s_ >= output_.line_interval_s))
    return;
  if (quiet) next_quiet_s_ = 2.0 * state_.quiet_s;
  show();
}

void Progress::show() {
  shown_at_s_ = clock_.seconds();
  sink_.show(state_);
}

}  // namespace rollcall::report
