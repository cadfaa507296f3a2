// Reward decaying_exit: of a group's correct answers, the shortest earns most.
//   r_i = exit_decay^(j-1) for the j-th shortest correct rollout of its group, 0 for a wrong one;
//   equal lengths share the better place
// Source: S-GRPO, arXiv:2505.07686, section 3 (decay 1/2 over early exits of one reasoning path).
// Shapes: [B] -> [B].   Knobs: exit_decay.
// What differs: it replaces the reward. With openings.exit the group is one path and its exits, in
//   the order of their lengths; without it, independent rollouts.
#pragma once

#include "objective/pieces.hpp"

#include <cmath>

namespace rollcall::objective {

struct DecayingExit {
  static constexpr std::string_view
      name = "decaying_exit",
      formula = "r_i = exit_decay^(shorter correct rollouts of the group) if correct, else 0";
  double decay = 0.5;

  void bind(Knobs& knobs) {
    knobs.number("exit_decay", decay, {0.0, 1.0},
                 "reward of a correct answer relative to the next shorter one");
    knobs.needs.column(column::correct);
  }

  ShapedReward operator()(const Step& step) const {
    at::Tensor reward = at::zeros({step.shape.rollouts}, at::kDouble);
    auto out = reward.accessor<double, 1>();
    const auto length = step.shape.length.accessor<double, 1>(),
               correct = step.named(column::correct).accessor<double, 1>();
    const auto& begin = step.shape.group_begin();
    for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
      for (auto i = begin[g]; i < begin[g + 1]; ++i) {
        int shorter = 0;
        for (auto j = begin[g]; j < begin[g + 1]; ++j)
          shorter += correct[j] > 0 && length[j] < length[i];
        if (correct[i] > 0) out[i] = std::pow(decay, shorter);
      }
    }
    return {reward, {}, {}};
  }
};

}  // namespace rollcall::objective
