// Whether an answer says the same as a reference: equal, different or undecided, with the reason.
#pragma once

#include "reward/math/values.hpp"

#include <string_view>

namespace rollcall::reward::math {

struct Decision {
  Verdict verdict;
  std::int64_t work = 0;  ///< counted operations; at most 2 * (kMostWork + kMostEvaluation) for each of five readings
};

/// Any bytes are safe; never throws. A pure function: no clock, no state, the same on any machine.
///
/// Equal: it is shown, and nothing is divided by what may be zero. Functions are compared where both are real, at the points of points.hpp.
/// Undecided: the reference cannot be read or computed, or two values that can be are not told apart within the limits.
/// Different: it is shown; or the answer on its own has no value that can be read and computed within the limits, while the reference has one. An answer may
/// be left out of training where it is undecided (reward.undecided), so no answer can choose to be: 1/0, an integral or an unsolved equation is a wrong answer.
Decision decide(std::string_view reference, std::string_view answer);

/// Why a reference cannot be read, which leaves only the same text as a right answer; empty where it can.
std::string reference_problem(std::string_view reference);

}  // namespace rollcall::reward::math
