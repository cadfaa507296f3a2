// Reward unlikely: correct answers that the policy finds likely earn less.
//   r_i *= 1 - unlikely_beta (n - rank_i) / n for a correct answer; rank_i = rollouts of the group
//   that are strictly more likely
// Source: Rewarding the Unlikely, arXiv:2506.02355, section 4 (coefficient 0.25; rank 0 is the most
//   likely).
// Shapes: [B] -> [B].   Knobs: unlikely_beta.
// What differs: it counters the rank bias of group methods, which reinforce the likely correct
//   answers first. Wrong answers stay as they are. The probability is that of the whole response
//   under the policy at the start of the update.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Unlikely {
  static constexpr std::string_view name = "unlikely",
                                    formula =
                                        "r_i *= 1 - unlikely_beta (n - rank_i) / n where correct";
  double beta = 0.25;

  void bind(Knobs& knobs) {
    knobs.number("unlikely_beta", beta, {0.0, 1.0},
                 "share of the reward that the likeliest answer loses");
    knobs.needs.column(column::correct);
  }

  ShapedReward operator()(const Step& step) const {
    at::Tensor reward = step.reward.clone();
    auto out = reward.accessor<double, 1>();
    const at::Tensor logprob = step.shape.rollout_sum(step.columns.old_logprob);
    const auto lp = logprob.accessor<double, 1>(),
               correct = step.named(column::correct).accessor<double, 1>();
    const auto& begin = step.shape.group_begin();
    for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
      const double n = double(begin[g + 1] - begin[g]);
      for (auto i = begin[g]; i < begin[g + 1]; ++i) {
        int rank = 0;
        for (auto j = begin[g]; j < begin[g + 1]; ++j) rank += lp[j] > lp[i];
        if (correct[i] > 0) out[i] *= 1.0 - beta * (n - rank) / n;
      }
    }
    return {reward, {}, {}};
  }
};

}  // namespace rollcall::objective
