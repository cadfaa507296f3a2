// A clock for waits that look at it often: time in which the process stood still is not counted.
#pragma once

#include <chrono>

namespace rollcall {

/// `scontrol suspend`, gang scheduling and a frozen machine stop a process for minutes or hours,
/// while
/// clocks go on. A wait that looks every few milliseconds sees that: its next look comes far too
/// late.
/// From construction on, in seconds of a monotonic clock.
class AttendedClock {
 public:
  /// `late_s`: a look that comes later than this after the last one says that the process stood
  /// still.
  explicit AttendedClock(double late_s) : late_s_(late_s) {}

  /// Looks: seconds so far, without those in which the process stood still. Safe in a signal
  /// handler.
  double seconds() {
    const auto now = Clock::now();
    const double passed_s = std::chrono::duration<double>(now - looked_).count();
    looked_ = now;
    (passed_s > late_s_ ? stood_still_s_ : seconds_) += passed_s;
    return seconds_;
  }
  /// What the looks so far have left out.
  double stood_still_s() const { return stood_still_s_; }

 private:
  using Clock = std::chrono::steady_clock;
  double late_s_, seconds_ = 0.0, stood_still_s_ = 0.0;
  Clock::time_point looked_ = Clock::now();
};

}  // namespace rollcall
