// Advantage win_rate: share of the group's rollouts that this one beats, less one half.
//   A_i = mean_j (1 if r_i > r_j, 1/2 if equal, 0 if less) - 1/2, over all rollouts of the group, i
//   among them
// Source: Self-Play Preference Optimization, arXiv:2405.00675, section 4: the win rate against the
//   policy, estimated on all K samples; its code also counts the tie of a sample with itself.
// Shapes: [B] rewards -> [N].   Knobs: none.
// What differs: only the order of the rewards counts. Equal rewards give 0, and a group of one
//   gives 0.
#pragma once

#include "base/numbers/differing.hpp"
#include "objective/pieces.hpp"

namespace rollcall::objective {

struct WinRate {
  static constexpr std::string_view
      name = "win_rate",
      formula =
          "A_i = share of the group with a lower reward + half the ties, its own among them - 1/2";

  at::Tensor operator()(const Step& step) const {
    const at::Tensor reward = step.reward.contiguous();
    at::Tensor rate = at::zeros_like(reward);
    const auto* r = reward.const_data_ptr<double>();
    auto* out = rate.data_ptr<double>();
    const auto& begin = step.shape.group_begin();
    for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
      const double size = double(begin[g + 1] - begin[g]);
      for (auto i = begin[g]; i < begin[g + 1]; ++i) {
        double wins = 0.0;
        for (auto j = begin[g]; j < begin[g + 1]; ++j)
          wins += !differ(r[i], r[j]) ? 0.5 : r[i] > r[j] ? 1.0 : 0.0;
        out[i] = wins / size - 0.5;
      }
    }
    return step.shape.over_tokens(rate);
  }
};

}  // namespace rollcall::objective
