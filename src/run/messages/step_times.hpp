// What rank 0 knows of the end of the step under way; it travels with the step's plans.
#pragma once

#include <limits>

namespace rollcall::run {

/// Seconds from the moment at which they are sent. The defaults are those of work that nothing is
/// known of, or that need not be finished: an evaluation.
struct StepTimes {
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();
  double expected_s = kUnknown;  ///< to the step's end, if it takes as long as the longest before
                                 ///< it
  /// To the last moment at which the step may end, so that its checkpoint is written before the
  /// allocation ends; -kUnknown where nobody knows when it does.
  double latest_s = -kUnknown;

  template <class A>
  void serialize(A& ar, unsigned) {
    ar& expected_s& latest_s;
  }
};

}  // namespace rollcall::run
