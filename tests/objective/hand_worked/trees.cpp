// Hand-worked numbers of the rows that train the leaves of trees.
#include "hand_worked.hpp"

namespace rollcall::objective::test {
namespace {

/// worked_step() whose tokens had entropies 1, 3 and 2.
PlainStep with_entropies() {
  PlainStep step = worked_step();
  step.rollouts[0].old_entropy = {1.0, 3.0}, step.rollouts[1].old_entropy = {2.0};
  return step;
}

}  // namespace

HandWorkedTable worked_trees() {
  const double a = 0.5 / (1 / std::sqrt(2.0) + 1e-6);  // group_norm of 1 and 0
  // Entropies 1, 3 and 2: mean 2, squares 1 + 1 over 3.
  const double lift = 0.2 / (std::sqrt(2.0 / 3) + 1e-6);
  // clang-format off
  return {
      {"arpo", {(-1.2 - 0.9 + 1.1) * a / 3, {0.0, -0.9 * a / 3, 1.1 * a / 3}}},
      // The bounded token keeps the derivative of its bound.
      {"aepo", {
       (-1.2 * (1 - lift) - 0.9 * (1 + lift) + 1.1) * a / 3,
        {-1.2 * (1 - lift) * a / 3, -0.9 * (1 + lift) * a / 3, 1.1 * a / 3}, with_entropies}},
  };
  // clang-format on
}

}  // namespace rollcall::objective::test
