// Advantage first_answers: answers written after feedback are compared with answers written without
// it.
//   A_i = r_i - mean of r over the own answers of i's group, refinements and own answers alike
// Source: RLTF, arXiv:2602.02482 (RLTF-SD: R(y1_i) - mean_j R(y0_j)).
// Shapes: [B] rewards, column derived [B] -> [N].   Knobs: none.
// What differs from group_center: refinements, which succeed more often, are not in the mean, so an
//   own answer is not pushed down because of them, and a refinement is worth as much as it exceeds
//   answers without feedback. An own answer that is the only one keeps its plain reward (see
//   Step::baseline). Without refinements it is group_center.
#pragma once

#include "core/derivation.hpp"
#include "objective/pieces.hpp"

namespace rollcall::objective {

struct FirstAnswers {
  static constexpr std::string_view name = "first_answers",
                                    formula =
                                        "A_i = r_i - mean of the group's answers without feedback";

  void bind(Knobs& knobs) { knobs.needs.column(column::derived); }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor refined = step.named(column::derived) == double(DerivedKind::refinement),
                     own = refined.logical_not().to(at::kDouble);
    const at::Tensor mean = step.shape.over_rollouts(step.shape.group_mean(step.reward, own)),
                     alone = step.shape.over_rollouts(step.shape.group_sum(own) < 2);
    return step.shape.over_tokens(step.reward -
                                  at::where(alone.logical_and(refined.logical_not()), 0.0, mean));
  }
};

}  // namespace rollcall::objective
