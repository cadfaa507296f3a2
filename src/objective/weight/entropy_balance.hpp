// Weight entropy_balance: answers of which the policy was surer than of the rest of the group push
// more.
//   w_i = max(0, 1 + (m_g - h_i) / m_g),  h_i the mean over rollout i's tokens of the entropy where
//   they were sampled, m_g their mean in the group
// Source: ETTRL, arXiv:2508.11356 (entropy-based advantage reshaping), by a third party's summary.
// Shapes: column old_entropy [N] -> [N].   Knobs: none.
// What differs from entropy_shaping: it is a factor, relative to the group, and 1 on average. The
//   summary does not bound it. Here it is at least 0, because a success whose entropy is more than
//   twice the group's mean would be pushed down otherwise. Rollouts without tokens do not count in
//   the mean. Where the mean is 0, the factor is 1.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct EntropyBalance {
  static constexpr std::string_view
      name = "entropy_balance",
      formula = "w_i = max(0, 2 - h_i / m), h_i mean entropy of the answer, m that of its group";

  void bind(Knobs& knobs) { knobs.needs.column(column::old_entropy); }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor h = step.shape.rollout_mean(step.named(column::old_entropy)),
                     there = (step.shape.length > 0).to(at::kDouble);
    const at::Tensor mean = step.shape.over_rollouts(step.shape.group_sum(h * there) /
                                                     step.shape.group_sum(there).clamp_min(1.0));
    return {step.shape.over_tokens(
                at::where(mean > 0, (2.0 - h / mean.clamp_min(1e-300)).clamp_min(0.0), 1.0)),
            {}};
  }
};

}  // namespace rollcall::objective
