// What rank 0 knows about the end of the current step. The plans of the step carry it to the other
// ranks.
#pragma once

#include <limits>

namespace rollcall::run {

/// Seconds from the moment at which the plan is sent. The defaults are for work whose duration is
/// not known or that need not be finished, such as an evaluation.
struct StepTimes {
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();
  double expected_s = kUnknown;  ///< seconds to the end of the step if it takes as long as the
                                 ///< longest step before
  /// To the last moment at which the step may end so that its checkpoint is written before the
  /// allocation ends; -kUnknown where that end is not known.
  double latest_s = -kUnknown;

  template <class A>
  void serialize(A& ar, unsigned) {
    ar& expected_s& latest_s;
  }
};

}  // namespace rollcall::run
