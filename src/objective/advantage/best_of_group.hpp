// Advantage best_of_group: 1 for the best rewarded rollouts of a group, 0 for the others.
//   A_i = 1 where r_i = max_g and the verifier accepted the answer, else 0
// Source: RAFT, arXiv:2304.06767; all best rollouts of a solved prompt, as in arXiv:2504.11343,
//   section 2.
// Shapes: [B] -> [N].   Knobs: none.
// What differs: with surrogate reinforce this is the negative log-likelihood of the selected
//   answers, without a negative signal and without a baseline.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct BestOfGroup {
  static constexpr std::string_view name = "best_of_group",
                                    formula = "A_i = 1 where r_i = max_g and correct, else 0";

  void bind(Knobs& knobs) {
    knobs.needs.column(column::correct);
    knobs.reward_use.gates({.when = [] { return true; }, .heard = heard});
  }

  /// [B] the reward in groups with a right answer, and `correct`, which is 0, in others, because
  /// nothing is learnt from the best of several wrong answers.
  static at::Tensor heard(const Step& step) {
    const at::Tensor& correct = step.named(column::correct);
    return at::where(step.shape.over_rollouts(step.shape.group_max(correct)) > 0, step.reward,
                     correct);
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor best =
        differing(step.reward, step.shape.over_rollouts(step.shape.group_max(step.reward)))
            .logical_not();
    return step.shape.over_tokens(
        best.logical_and(step.named(column::correct) > 0).to(at::kDouble));
  }
};

}  // namespace rollcall::objective
