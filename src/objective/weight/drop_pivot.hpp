// Weight drop_pivot: in a group of odd size, the one rollout with the median reward leaves the
// step.
//   keep_it = 0 for one rollout with r_i = median_g of every group of 3, 5, ...; if several
//   rollouts tie, the one with the smallest uniform draw is dropped. The draw depends only on seed,
//   step and rollout
// Source: MC-GRPO, arXiv:2601.22582, section 3 (G + 1 rollouts are sampled, G are trained).
// Shapes: [B] -> [N].   Knobs: none.
// What differs from dropping all zero advantages: exactly one rollout leaves, so a prompt always
//   trains the same number of rollouts.
#pragma once

#include "base/numbers/differing.hpp"
#include "objective/pieces.hpp"

#include <algorithm>
#include <vector>

namespace rollcall::objective {

struct DropPivot {
  static constexpr std::string_view
      name = "drop_pivot",
      formula =
          "keep_it = 0 for one median rollout of every odd group from 3 on, drawn where several tie";

  TokenWeight operator()(const Step& step) const {
    at::Tensor keep = at::ones({step.shape.rollouts}, at::kDouble);
    auto out = keep.accessor<double, 1>();
    const at::Tensor draws = step.uniform_rollouts(12);
    const auto reward = step.reward.accessor<double, 1>(), draw = draws.accessor<double, 1>();
    const auto& begin = step.shape.group_begin();
    for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
      const auto n = begin[g + 1] - begin[g];
      if (n < 3 || n % 2 == 0) continue;
      std::vector<std::int64_t> order;
      for (auto i = begin[g]; i < begin[g + 1]; ++i) order.push_back(i);
      std::sort(order.begin(), order.end(), [&](auto a, auto b) { return reward[a] < reward[b]; });
      const double median = reward[order[std::size_t(n / 2)]];
      std::int64_t pivot = -1;
      for (const auto i : order) {
        if (!differ(reward[i], median) && (pivot < 0 || draw[i] < draw[pivot])) pivot = i;
      }
      out[pivot] = 0.0;
    }
    return {{}, step.shape.over_tokens(keep)};
  }
};

}  // namespace rollcall::objective
