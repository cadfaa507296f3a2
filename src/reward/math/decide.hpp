// Whether an answer says the same as a reference: equal, different or undecided, with the reason.
#pragma once

#include "reward/math/values.hpp"

#include <string_view>

namespace rollcall::reward::math {

struct Decision {
  Verdict verdict;
  std::int64_t work = 0;  ///< counted operations; at most 2 * (kMostWork + kMostEvaluation) for each reading
};

/// Any bytes are safe; never throws. A pure function: no clock, no state, the same on any machine.
/// A response that is no expression is different; a reference that is none, and what is not computed or beyond the limits, is undecided.
Decision decide(std::string_view reference, std::string_view answer);

}  // namespace rollcall::reward::math
