// Advantage pass_at_k: the advantage of sets of k rollouts, averaged over all sets that hold the
// rollout.
//   R = 1 - C(m, k) / C(n, k), m failures of n;  s = sqrt(R (1 - R));  success: (1 - R) / s;
//   failure: (1 - R - C(m-1, k-1) / C(n-1, k-1)) / s;  s = 0: 0
// Source: Pass@k Training, arXiv:2508.10751, section 2.4 (analytical derivation).
// Shapes: [B] -> [N].   Knobs: pass_k.
// What differs from group_norm: k = 1 is group_norm with the population spread. A larger k moves
//   weight to hard prompts and spares failures of groups that succeed in any case. A success is an
//   answer that the verifier calls correct. k is at most the group's size, and a group of one
//   teaches nothing.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::objective {

struct PassAtK {
  static constexpr std::string_view
      name = "pass_at_k",
      formula = "A = (1-R)/s or (1 - R - C(m-1,k-1)/C(n-1,k-1))/s, R = 1 - C(m,k)/C(n,k)";
  double k = 4.0;

  void bind(Knobs& knobs) {
    knobs.number("pass_k", k, {1.0, 1e6}, "size of the sets");
    trains_on_correct(knobs);
  }

  at::Tensor operator()(const Step& step) const {
    at::Tensor a = at::zeros({step.shape.rollouts}, at::kDouble);
    auto out = a.accessor<double, 1>();
    const auto correct = step.named(column::correct).accessor<double, 1>();
    const auto& begin = step.shape.group_begin();
    for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
      const auto n = int(begin[g + 1] - begin[g]), draws = std::min(int(k), n);
      int failures = 0;
      for (auto i = begin[g]; i < begin[g + 1]; ++i) failures += correct[i] <= 0;
      const double all_fail = none_of(failures, n, draws),
                   spread = std::sqrt(all_fail * (1.0 - all_fail));
      if (spread < 1e-12) continue;
      const double others_fail = none_of(failures - 1, n - 1, draws - 1);
      for (auto i = begin[g]; i < begin[g + 1]; ++i)
        out[i] = (correct[i] > 0 ? all_fail : all_fail - others_fail) / spread;
    }
    return step.shape.over_tokens(a);
  }

  /// C(m, k) / C(n, k): the chance that k of n rollouts are all among the m failures.
  static double none_of(int m, int n, int k) {
    double chance = 1.0;
    for (int j = 0; j < k; ++j) chance *= std::max(0.0, double(m - j) / double(n - j));
    return chance;
  }
};

}  // namespace rollcall::objective
