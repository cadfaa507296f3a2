// The comparison of two parsed answers.
#pragma once

#include "reward/math/values/values.hpp"

#include <cstdint>

namespace rollcall::reward::math {

/// One comparison. Its work is counted over all its calls. Both questions throw NoVerdict for what
/// cannot be compared, or beyond the limits.
class Comparison {
 public:
  /// The cost limit is 1 / `part` of the limit for one comparison.
  explicit Comparison(std::int64_t part = 1) : values_(part) {}
  /// Equal if that is shown, and if everything that either side divides by is shown not to be zero.
  Verdict verdict(const Node& reference, const Node& answer);
  /// Equal if all values in it can be computed and are defined; different if there is something
  /// other than a number where a number should be.
  Verdict has_value(const Node& node);
  /// Products of terms and interval operations so far.
  std::int64_t work() { return values_.work() + values_.algebra().polynomials().budget().spent(); }

 private:
  Values values_;
};

}  // namespace rollcall::reward::math
