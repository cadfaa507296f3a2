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

/// Four rollouts of three tokens, the first right: all share one token, the first two share two, and
/// so do the last two.
PlainStep binary_tree() {
  PlainStep step;
  step.horizon = 10.0;
  const double parent[] = {-1, 0, 0, 2}, shared[] = {-1, 2, 1, 2};
  for (std::size_t i = 0; i < 4; ++i) {
    PlainRollout r;
    r.reward = r.correct = i == 0 ? 1.0 : 0.0, r.parent = parent[i], r.fork_token = shared[i];
    for (auto* column : {&r.now, &r.old, &r.rollout, &r.reference})
      column->assign(3, std::log(0.5));
    r.entropy.assign(3, 1.0);
    step.rollouts.push_back(std::move(r));
  }
  return step;
}

}  // namespace

HandWorkedTable worked_trees() {
  const double a = 0.5 / (1 / std::sqrt(2.0) + 1e-6);  // group_norm of 1 and 0
  // Entropies 1, 3 and 2: mean 2, squares 1 + 1 over 3.
  const double lift = 0.2 / (std::sqrt(2.0 / 3) + 1e-6);
  // Values 1/2 and 0 of two stretches, each trained by two rollouts: 1/4 over sqrt(1/8), halved.
  // Leaves 1, 0, 0, 0: 3/4 and -1/4 over 1/2. Over twelve tokens; they sum to 0.
  const double half = 0.25 / (std::sqrt(0.125) + 1e-6) / 2 / 12, up = 0.75 / (0.5 + 1e-6) / 12,
               down = 0.25 / (0.5 + 1e-6) / 12;
  // clang-format off
  return {
      {"branchgrpo", {0.0, {0.0, -half, -up, 0.0, -half, down, 0.0, half, down, 0.0, half, down}, binary_tree}},
      {"arpo", {(-1.2 - 0.9 + 1.1) * a / 3, {0.0, -0.9 * a / 3, 1.1 * a / 3}}},
      // The bounded token keeps the derivative of its bound.
      {"aepo", {
       (-1.2 * (1 - lift) - 0.9 * (1 + lift) + 1.1) * a / 3,
        {-1.2 * (1 - lift) * a / 3, -0.9 * (1 + lift) * a / 3, 1.1 * a / 3}, with_entropies}},
  };
  // clang-format on
}

}  // namespace rollcall::objective::test
