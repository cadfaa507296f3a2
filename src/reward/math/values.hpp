// Whether two values are equal: exactly, by canonical form, or by intervals of rising precision at addressed points.
#pragma once

#include "reward/math/algebra.hpp"
#include "reward/math/expression.hpp"

#include <string>

namespace rollcall::reward::math {

enum class Answer { equal, different, undecided };

struct Verdict {
  Answer answer = Answer::undecided;
  std::string reason{};
};

/// Compares forms of one Algebra. Throws NoVerdict where a limit is reached.
class Values {
 public:
  /// The form of an expression without structure (sets, tuples, relations, ...); throws NoVerdict for what has none.
  Form form(const Node& node);
  Verdict compare(const Form& a, const Form& b);
  /// The sign of a constant: -1, 0, 1; none where it is not real or not decided.
  std::optional<int> sign(const Form& a);
  Algebra& algebra() { return algebra_; }
  std::int64_t work() const { return evaluations_.spent(); }

 private:
  Verdict compare_constants(const Poly& difference);
  Verdict compare_functions(const Form& a, const Form& b, const Poly& difference, const std::vector<int>& variables);
  Form call(const Node& node);

  Algebra algebra_;
  Budget evaluations_{kMostEvaluation, "interval operations"};
};

}  // namespace rollcall::reward::math
