// Decides whether two values are equal: by canonical form, exactly, or by intervals of increasing
// precision at addressed points.
#pragma once

#include "reward/math/algebra/algebra.hpp"
#include "reward/math/expression/expression.hpp"
#include "reward/math/values/evaluation.hpp"
#include "reward/math/verdict.hpp"

namespace rollcall::reward::math {

Verdict compare_numbers(const mpq_class& a, const mpq_class& b);

/// Compares forms of one Algebra. Throws NoVerdict beyond the limits.
class Values {
 public:
  explicit Values(std::int64_t part = 1)
      : algebra_(kMostWork / part), evaluations_(kMostEvaluation / part, "interval operations") {}
  /// The form of a single value. Throws NoVerdict for structures (sets, tuples, relations, ...).
  Form form(const Node& node);
  Verdict compare(const Form& a, const Form& b);
  /// The sign of a constant: -1, 0 or 1; nothing if it is not real or not decided.
  std::optional<int> sign(const Form& a);
  /// Equal if a constant can be computed to some precision, or a function at enough points, and if
  /// it can be told from other values within the limits.
  Verdict computed(const Form& form);
  /// Whether a form is shown not to be zero: equal if so, different if it is shown to be zero. A
  /// function must not be zero at any point at which it is computed.
  Verdict is_not_zero(const Form& form);
  /// Whether nothing so far was divided by zero, which the forms no longer show. Returns the same
  /// kinds of verdict as is_not_zero().
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
