// Whether two values are equal: exactly, by canonical form, or by intervals of rising precision at
// addressed points.
#pragma once

#include "reward/math/algebra.hpp"
#include "reward/math/evaluation.hpp"
#include "reward/math/expression.hpp"
#include "reward/math/verdict.hpp"

namespace rollcall::reward::math {

Verdict compare_numbers(const mpq_class& a, const mpq_class& b);

/// Compares forms of one Algebra. Throws NoVerdict where a limit is reached.
class Values {
 public:
  explicit Values(std::int64_t part = 1)
      : algebra_(kMostWork / part), evaluations_(kMostEvaluation / part, "interval operations") {}
  /// The form of an expression without structure (sets, tuples, relations, ...); throws NoVerdict
  /// for what has none.
  Form form(const Node& node);
  Verdict compare(const Form& a, const Form& b);
  /// The sign of a constant: -1, 0, 1; none where it is not real or not decided.
  std::optional<int> sign(const Form& a);
  /// Equal where a constant is computed to some precision, a function at enough points, and where
  /// other values can be told from it within the limits.
  Verdict computed(const Form& form);
  /// Whether it is shown to be no zero: equal where it is, different where it is shown to be zero.
  /// A function: at all points where it is computed.
  Verdict is_not_zero(const Form& form);
  /// Whether nothing so far was divided by zero; the forms themselves no longer tell. Other answers
  /// as above.
  Verdict all_is_defined();
  Algebra& algebra() { return algebra_; }
  std::int64_t work() const { return evaluations_.spent(); }

 private:
  enum class Size { zero, not_zero, unknown };
  std::pair<Size, std::string> size_at(const Point& point, const Poly& poly, bool real_only);
  bool is_defined_at(const Point& point, const Form& form, bool real_only);
  Verdict compare_constants(const Poly& difference);
  Verdict compare_functions(const Form& a, const Form& b, const Poly& difference,
                            const std::vector<int>& variables);
  Form call(const Node& node);

  Algebra algebra_;
  Budget evaluations_;
};

}  // namespace rollcall::reward::math
