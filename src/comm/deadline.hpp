// The deadline of one wait. Time for which a rank was suspended does not count against it.
#pragma once

#include "base/time/attended_clock.hpp"
#include "base/time/clock.hpp"

#include <functional>

namespace rollcall::comm {

/// Returns the longest time for which any other rank was suspended within the last `since_s`
/// seconds [s]. It is called once the time of a wait is up, and may take about a second.
using Standstills = std::function<double(double since_s)>;
/// Sets the function that deadlines of the calling thread ask about other ranks. Without one, or
/// with an empty one, only suspensions of this rank itself are known.
void ask_about_standstills(Standstills known);

/// The waiting code must call is_over() or spent() frequently, because a long gap between two calls
/// is taken for a suspension of this rank.
class Deadline {
 public:
  /// `seconds` is the longest wait. A gap between two calls shows that this rank itself was
  /// suspended if it is longer than `seconds` / 2, but at least 1 s and at most 10 s.
  explicit Deadline(double seconds);
  /// The fraction of the longest wait that has passed. At 1 and above the wait may still go on:
  /// is_over() first adds the suspensions of other ranks to the time.
  double spent();
  /// Whether the time is up, after the suspensions of all ranks have been added to it.
  bool is_over();
  /// Starts the wait again, after a sign of life.
  void renew();
  double waited_s() {
    return clock_.seconds();
  }  ///< time waited [s], without the time for which this rank was suspended

 private:
  double seconds_, excused_s_ = 0.0;
  double renewed_s_ = 0.0, still_before_s_ = 0.0;  ///< clock_'s time, and its suspensions, at the
                                                   ///< last renewal
  AttendedClock clock_;
  Stopwatch since_;  ///< time since the last renewal, suspensions included
};

}  // namespace rollcall::comm
