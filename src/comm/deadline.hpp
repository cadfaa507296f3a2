// The deadline of one wait. A suspended job is no hang: what a rank stood still is added.
#pragma once

#include "base/attended_clock.hpp"
#include "base/clock.hpp"

#include <functional>

namespace rollcall::comm {

/// How long other ranks stood still within the last `since_s` seconds, the longest of them, in
/// seconds. Asked once a wait's time is up; may take a moment, not longer.
using Standstills = std::function<double(double since_s)>;
/// Who knows it: one for each thread that waits. Empty: nobody, as at the start.
void ask_about_standstills(Standstills known);

/// Asked at every look of the wait, which must be frequent.
class Deadline {
 public:
  /// `seconds`: how long the wait may last. A look that comes half of it late, at most 10 s, says
  /// that this rank stood still itself.
  explicit Deadline(double seconds);
  /// The part of the time that is spent; from 1 on is_over() decides.
  double spent();
  /// Whether the time is up, with that in which a rank stood still added.
  bool is_over();
  /// The wait begins anew: there was a sign of life.
  void renew();
  double waited_s() { return clock_.seconds(); }  ///< without what this rank stood still

 private:
  double seconds_, excused_s_ = 0.0;
  double renewed_s_ = 0.0, still_before_s_ = 0.0;  ///< by clock_, when the wait began anew
  AttendedClock clock_;
  Stopwatch since_;  ///< the wait began anew
};

}  // namespace rollcall::comm
