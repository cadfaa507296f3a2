// Progress of a piece of work: a bar on a terminal, or a plain line now and then if the output is a
// file or a pipe.
#pragma once

#include "base/time/clock.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rollcall::report {

using NamedNumbers = std::vector<std::pair<std::string, double>>;

/// The content of a line of progress. It is plain data, so that its text can be tested.
struct ProgressState {
  std::string label;       ///< such as "train"
  std::int64_t first = 0;  ///< steps done before this process began; the rate leaves them out
  std::int64_t done = 0, total = 0;
  double elapsed_s = 0.0;    ///< from the start of this process to the end of the last step
  NamedNumbers numbers;      ///< in the order shown; the last ones are left out of a narrow line
  std::string unit{"step"};  ///< what is counted
  double quiet_s = 0.0;      ///< time since the last step ended; shown if it is long
};

/// Plain ASCII of at most `columns` characters: label, bar, done/total, rate, time left, numbers.
std::string progress_bar(const ProgressState& state, std::size_t columns);
/// The text of progress_bar without the bar or a column limit, for logs.
std::string progress_line(const ProgressState& state);

/// The output for progress: a terminal, on which the last line is redrawn, or a log, which gets a
/// line each time.
class ProgressSink {
 public:
  explicit ProgressSink(int fd);  ///< the descriptor stays open
  bool is_terminal() const { return terminal_; }
  void show(const ProgressState& state);
  void end_bar();  ///< ends an incomplete bar with a newline

 private:
  void write(const std::string& text);
  int fd_;
  bool terminal_;
  bool silent_ = false;  ///< a write has failed; nothing is written any more
  bool open_ = false;    ///< the terminal's last line is a bar
};

/// Shows the progress of a piece of work. It never throws and never raises SIGPIPE: when the reader
/// of the output goes away, nothing is shown any more. If update() is not called for a long time, a
/// thread of this object shows that the work is still running.
class Progress {
 public:
  /// The state of the work. `done` is ignored unless it is larger than every number so far, and
  /// `numbers` are ignored if they are empty.
  struct Glimpse {
    std::int64_t done = 0;
    NamedNumbers numbers{};
  };
  struct Output {
    int fd = 1;                          ///< standard output
    double bar_interval_s = 0.1;         ///< a terminal is redrawn at most this often
    double line_interval_s = 10.0;       ///< a log gets a line at most this often
    const char* unit = "step";           ///< ProgressState::unit
    std::function<Glimpse()> glimpse{};  ///< called twice a second, by another thread
  };
  Progress(std::string label, std::int64_t first, std::int64_t total);
  Progress(std::string label, std::int64_t first, std::int64_t total, Output output);
  ~Progress();  ///< ends an open bar with a newline
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// The first and the last step are always shown.
  void update(std::int64_t done, const NamedNumbers& numbers);

 private:
  void watch(const std::stop_token& stop);  ///< the function of the thread watcher_
  void look();
  void show();
  ProgressState state_;
  Output output_;
  Stopwatch clock_;
  ProgressSink sink_;
  bool shown_ = false;                          ///< update() has shown progress at least once
  double shown_at_s_ = 0.0, moved_at_s_ = 0.0;  ///< times on clock_: when progress was last shown,
                                                ///< and when the work last moved
  /// Time without progress after which a log gets a line [s]. It doubles with each such line.
  double next_quiet_s_ = 0.0;
  std::mutex mutex_;  ///< guards all members above
  std::condition_variable_any stopped_;
  std::jthread watcher_;  ///< the last member, so that it ends first
};

}  // namespace rollcall::report
