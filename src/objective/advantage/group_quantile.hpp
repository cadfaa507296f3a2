// Advantage group_quantile: rewards minus a quantile of their group.
//   A_i = (r_i - Q_K) / (std_g + eps), Q_K the smallest reward r for which at least a share K of
//   the group has rewards up to r; std with n - 1
// Source: Quantile Advantage Estimation (QAE), arXiv:2509.22611, section 3 (K 0.4).
// Shapes: [B] -> [N].   Knobs: quantile, adv_eps.
// What differs from group_norm: with 0/1 rewards, prompts with a success rate of at most 1 - K push
//   only their successes, and easier prompts push only their failures. This keeps the entropy
//   between collapse and explosion. A group of one keeps its plain reward.
#pragma once

#include "objective/pieces.hpp"
#include "objective/selection.hpp"

#include <algorithm>
#include <vector>

namespace rollcall::objective {

struct GroupQuantile {
  static constexpr std::string_view name = "group_quantile",
                                    formula = "A_i = (r_i - Q_K(r)) / (std_g + adv_eps)";
  double level = 0.4, eps = 1e-6;

  void bind(Knobs& knobs) {
    knobs.number("quantile", level, {0.0, 1.0}, "level K of the baseline within the group");
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to the group's standard deviation");
  }

  at::Tensor operator()(const Step& step) const {
    at::Tensor a = step.reward.clone();
    auto out = a.accessor<double, 1>();
    const at::Tensor spread = step.spread();
    const auto std = spread.accessor<double, 1>();
    const auto& begin = step.shape.group_begin();
    for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
      const auto n = begin[g + 1] - begin[g];
      if (n < 2) continue;
      std::vector<double> sorted;
      for (auto i = begin[g]; i < begin[g + 1]; ++i) sorted.push_back(out[i]);
      std::sort(sorted.begin(), sorted.end());
      const double base =
          sorted[std::size_t(std::max<std::int64_t>(share_of(level, double(n)), 1) - 1)];
      for (auto i = begin[g]; i < begin[g + 1]; ++i) out[i] = (out[i] - base) / (std[i] + eps);
    }
    return step.shape.over_tokens(a);
  }
};

}  // namespace rollcall::objective
