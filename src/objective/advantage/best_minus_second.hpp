// Advantage best_minus_second: only the group's best rollout is moved, by its lead over the second
// best.
//   A_i = (r_i - second_g) / (std_g + eps) for the best rollout, 0 for the others; std with n - 1
// Source: arXiv:2503.19595 as implemented in verl's estimator grpo_passk (eps 1e-6).
// Shapes: [B] -> [N].   Knobs: adv_eps.
// What differs from group_norm: the advantage is the leave-one-out change of the group's maximum,
//   so it serves pass@k. Two equally good rollouts give 0. A group of one keeps its plain reward.
#pragma once

#include "base/numbers/differing.hpp"
#include "objective/pieces.hpp"

#include <algorithm>
#include <limits>

namespace rollcall::objective {

struct BestMinusSecond {
  static constexpr std::string_view
      name = "best_minus_second",
      formula = "A = (best - second) / (std_g + adv_eps) for the best, else 0";
  double eps = 1e-6;

  void bind(Knobs& knobs) {
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to the group's standard deviation");
  }

  at::Tensor operator()(const Step& step) const {
    at::Tensor a = step.reward.clone();
    auto out = a.accessor<double, 1>();
    const at::Tensor spread = step.spread();
    const auto reward = step.reward.accessor<double, 1>(), std = spread.accessor<double, 1>();
    const auto& begin = step.shape.group_begin();
    for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
      if (begin[g + 1] - begin[g] < 2) continue;
      auto best = begin[g];
      double second = -std::numeric_limits<double>::infinity();
      for (auto i = begin[g] + 1; i < begin[g + 1]; ++i) {
        if (reward[i] > reward[best]) second = reward[best], best = i;
        else second = std::max(second, reward[i]);
      }
      for (auto i = begin[g]; i < begin[g + 1]; ++i)
        out[i] = i == best && differ(reward[best], second)
                     ? (reward[best] - second) / (std[best] + eps)
                     : 0.0;
    }
    return step.shape.over_tokens(a);
  }
};

}  // namespace rollcall::objective
