// Whether an answer says the same as a reference: equal, different or undecided, with the reason.
#pragma once

#include "reward/math/values.hpp"

#include <string_view>

namespace rollcall::reward::math {

struct Decision {
  Verdict verdict;
  /// Counted operations: at most 2 * (kMostWork + kMostEvaluation) for each of five readings, and
  /// as many once more where a choice is named.
  std::int64_t work = 0;
};

/// Any bytes are safe; never throws. A pure function: no clock, no state, the same on any machine.
///
/// Equal: it is shown, and nothing is divided by what may be zero. Functions are compared where
/// both are real, at the points of points.hpp. Undecided: for a reason of verdict.hpp, each of
/// which names the reference. An answer may be left out of training where it is undecided
/// (reward.undecided), so no answer can choose to be. Different: all else. It is shown; or the
/// answer has no value of its own, as 1/0, an integral or an unsolved equation; or it is not shown
/// to equal a reference that is compared at little cost.
Decision decide(std::string_view reference, std::string_view answer);

/// Why a reference cannot be read, which leaves only the same text as a right answer; empty where
/// it can.
std::string reference_problem(std::string_view reference);

}  // namespace rollcall::reward::math
