// How long to sleep between two polls: not at all at first, later in proportion to the time already
// waited, so that latency and CPU use both stay small.
#pragma once

#include "base/time/clock.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace rollcall::comm {

/// The pauses of one wait. A short wait is noticed within microseconds, a wait of time t ends at
/// most t/16 late, and a long wait costs two polls per millisecond.
class Backoff {
 public:
  double waited_s() const { return watch_.seconds(); }
  double pause_s() const {
    const double waited = waited_s();
    return waited < spin_s ? 0.0 : std::min(waited / 16, longest_s);
  }

 private:
  /// This is longer than a rank that was asleep itself takes to answer. With 20 us, two ranks that
  /// had once slept kept each other asleep, and a round trip took 57 us instead of 3 us
  /// (benchmarks/comm). Spinning yields the core, so it costs other ranks little.
  static constexpr double spin_s = 100e-6;
  static constexpr double longest_s = 0.5e-3;  ///< Longest pause. A poll costs 2 us of CPU time, or
                                               ///< 15 us with virtual timers.
  Stopwatch watch_;
};

/// Lets other threads use the core: for one turn of the scheduler if `seconds` is 0, otherwise for
/// about `seconds`.
inline void give_way(double seconds) {
  if (seconds <= 0) return std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace rollcall::comm
