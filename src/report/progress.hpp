// One line of progress on a terminal, or an occasional plain line where the output is a file or a
// pipe.
#pragma once

#include "base/clock.hpp"

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

/// What a line of progress says. Pure, so that its text can be tested.
struct ProgressState {
  std::string label;       ///< "train"
  std::int64_t first = 0;  ///< steps done before this process began; they do not count for the rate
  std::int64_t done = 0, total = 0;
  double elapsed_s = 0.0;  ///< when the last one was done
  NamedNumbers numbers;  ///< shown in this order, dropped from the end when the line is too narrow
  std::string unit{"step"};  ///< of what is counted
  double quiet_s = 0.0;      ///< since one was done last; said where it is long
};

/// Plain ASCII of at most `columns` characters: label, bar, done/total, rate, time left, numbers.
std::string progress_bar(const ProgressState& state, std::size_t columns);
/// The same without a bar and without a limit, for logs.
std::string progress_line(const ProgressState& state);

/// Writes to a descriptor (standard output by default). A reader that goes away silences it; it
/// never raises SIGPIPE and never throws.
/// A thread of its own says now and then that work goes on where update() is not called for long.
class Progress {
 public:
  /// What is done of the work under way: more than update() has told of, or nothing.
  struct Glimpse {
    std::int64_t done = 0;
    NamedNumbers numbers{};
  };
  struct Output {
    int fd = 1;
    double bar_interval_s = 0.1;         ///< a terminal is redrawn at most this often
    double line_interval_s = 10.0;       ///< a log gets a line at most this often
    const char* unit = "step";           ///< ProgressState::unit
    std::function<Glimpse()> glimpse{};  ///< asked twice a second, by another thread
  };
  Progress(std::string label, std::int64_t first, std::int64_t total);
  Progress(std::string label, std::int64_t first, std::int64_t total, Output output);
  ~Progress();  ///< ends an open bar with a newline
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// The first and the last step are always shown.
  void update(std::int64_t done, const NamedNumbers& numbers);

 private:
  void watch(const std::stop_token& stop);  ///< the thread
  void look();
  void show();
  void write(const std::string& text);
  ProgressState state_;
  Output output_;
  Stopwatch clock_;
  bool terminal_ = false, silent_ = false, open_ = false, shown_ = false;
  double shown_at_s_ = 0.0, moved_at_s_ = 0.0;
  double next_quiet_s_ = 0.0;  ///< time without progress after which a log is told next; doubles
                               ///< each time
  std::mutex mutex_;           ///< of all above
  std::condition_variable_any stopped_;
  std::jthread watcher_;  ///< last: it ends first
};

}  // namespace rollcall::report
