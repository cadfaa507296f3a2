// How long to sleep between two polls: nothing at first, then in proportion to the time already
// waited, so that latency and CPU use both stay small.
#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace rollcall::comm {

/// One wait. A short wait answers within microseconds, a wait of t ends at most t/16 late, and a
/// long one costs two polls a millisecond.
class Backoff {
 public:
  double waited_s() const { return watch_.seconds(); }
  double pause_s() const {
    const double waited = waited_s();
    return waited < spin_s ? 0.0 : std::min(waited / 16, longest_s);
  }

 private:
  /// Longer than an answer takes from a rank that itself was asleep: with 20 us two ranks that had
  /// once slept kept each other asleep, and a round trip took 57 us instead of 3 us
  /// (benchmarks/comm). The spinning yields, so it costs other ranks little.
  static constexpr double spin_s = 100e-6;
  static constexpr double longest_s = 0.5e-3;  ///< a poll costs 2 us of CPU time, 15 us where
                                               ///< timers are virtual
  Stopwatch watch_;
};

/// Gives the core away: for one turn of the scheduler (0) or for about `seconds`.
inline void give_way(double seconds) {
  if (seconds <= 0) return std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace rollcall::comm
