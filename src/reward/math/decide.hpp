// Decides whether an answer is equal to a reference: equal, different or undecided, with the
// reason.
#pragma once

#include "reward/math/values/values.hpp"

#include <string_view>

namespace rollcall::reward::math {

struct Decision {
  Verdict verdict;
  /// Counted operations: at most 2 * (kMostWork + kMostEvaluation) for each of five readings, and
  /// twice that if a choice is named.
  std::int64_t work = 0;
};

/// A pure function with no clock or state. Its result is the same on any machine. Any bytes are
/// safe; never throws.
///
/// Equal means that equality is shown and that nothing is divided by something that may be zero.
/// Functions are compared where both are real, at the points of points.hpp. Undecided comes with a
/// reason from verdict.hpp, each of which concerns the reference: undecided answers may be left out
/// of training (reward.undecided), so no answer must be able to choose to be undecided. Everything
/// else is different: the difference is shown, or the answer itself has no value, such as 1/0, an
/// integral or an unsolved equation, or it is not shown to equal a reference that can be compared
/// at little cost.
Decision decide(std::string_view reference, std::string_view answer);

/// The reason why a reference cannot be read, so that only the same text is a correct answer. Empty
/// if it can be read.
std::string reference_problem(std::string_view reference);

}  // namespace rollcall::reward::math
