// A clock for loops that look at it often. It does not count time in which the process stood still.
#pragma once

#include <chrono>

namespace rollcall {

/// Counts seconds from its construction on, by a monotonic clock. `scontrol suspend`, gang
/// scheduling and a frozen machine stop a process for minutes or hours while clocks run on. A loop
/// that looks every few milliseconds notices, because its next look comes far too late.
class AttendedClock {
 public:
  /// If more than `late_s` passes between two looks, the process is assumed to have stood still.
  explicit AttendedClock(double late_s) : late_s_(late_s) {}

  /// Looks at the clock. Returns the seconds so far, without those in which the process stood
  /// still. Safe in a signal handler.
  double seconds() {
    const auto now = Clock::now();
    const double passed_s = std::chrono::duration<double>(now - looked_).count();
    looked_ = now;
    (passed_s > late_s_ ? stood_still_s_ : seconds_) += passed_s;
    return seconds_;
  }
  /// Seconds that the looks so far have left out.
  double stood_still_s() const { return stood_still_s_; }

 private:
  using Clock = std::chrono::steady_clock;
  double late_s_, seconds_ = 0.0, stood_still_s_ = 0.0;
  Clock::time_point looked_ = Clock::now();
};

}  // namespace rollcall
