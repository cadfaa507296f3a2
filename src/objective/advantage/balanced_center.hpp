// Advantage balanced_center: surplus failures of a prompt are dropped, so that it has at most as
// many failures as successes; then r - mean.
//   success: r_i >= mean_g;  with F failures and S < F successes, F - S failures, drawn at random,
//   get A_i = 0;
//   the group's other rollouts get A_i = r_i - mean_kept, where mean_kept is their mean reward
// Source: Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm, arXiv:2509.24203
//   (RED-Drop), and its released code (drop: balance).
// Shapes: [B] -> [N].   Knobs: none.
// What differs from group_center: on a hard prompt the same number of failures are pushed down as
//   successes are pushed up, each by 1/2, whereas group_center pushes down all failures a little.
//   Dropped rollouts stay in the denominators, as in the released code. A group of one keeps its
//   plain reward.
#pragma once

#include "base/numbers/differing.hpp"
#include "objective/pieces.hpp"

#include <algorithm>
#include <vector>

namespace rollcall::objective {

struct BalancedCenter {
  static constexpr std::string_view name = "balanced_center",
                                    formula =
                                        "A_i = r_i - mean_kept, surplus failures dropped at random";

  at::Tensor operator()(const Step& step) const {
    const at::Tensor draws = step.uniform_rollouts(17),
                     mean = step.shape.over_rollouts(step.shape.group_mean(step.reward));
    const at::Tensor kept = at::ones({step.shape.rollouts}, at::kDouble);
    auto keep = kept.accessor<double, 1>();
    const auto draw = draws.accessor<double, 1>();
    const auto reward = step.reward.accessor<double, 1>(), middle = mean.accessor<double, 1>();
    const auto& begin = step.shape.group_begin();
    for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
      std::vector<std::int64_t> failures;
      for (auto i = begin[g]; i < begin[g + 1]; ++i) {
        if (reward[i] < middle[i] && differ(reward[i], middle[i])) failures.push_back(i);
      }
      const auto surplus = 2 * std::int64_t(failures.size()) - (begin[g + 1] - begin[g]);
      std::sort(failures.begin(), failures.end(),
                [&](auto a, auto b) { return draw[a] < draw[b]; });
      for (std::int64_t k = 0; k < surplus; ++k) keep[failures[std::size_t(k)]] = 0.0;
    }
    const at::Tensor baseline =
        step.shape.group_mean(step.reward, kept) * (step.shape.group_size > 1);
    return step.shape.over_tokens(kept * (step.reward - step.shape.over_rollouts(baseline)));
  }
};

}  // namespace rollcall::objective
