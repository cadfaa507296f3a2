// Advantage hinted_groups: rollouts with help are compared with each other, and so are rollouts
// without help.
//   A_i = r_i - mean of r over the rollouts of i's group that had help if i had it, or had none if
//   i had none
// Source: ADHint, arXiv:2512.13095 (separate estimates for rollouts with and without hints).
// Shapes: [B] rewards, column tier [B] -> [N].   Knobs: none.
// What differs from group_center: rollouts with help, which succeed more often, do not raise the
//   baseline of rollouts without help, which would push these down. A rollout that is alone in its
//   half keeps its plain reward (see Step::baseline). The paper also weighs the halves by their
//   relative difficulty, by a formula that could not be obtained. Without help it is group_center.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct HintedGroups {
  static constexpr std::string_view name = "hinted_groups",
                                    formula =
                                        "A_i = r_i - mean of the group's rollouts with help, or "
                                        "of those without";

  void bind(Knobs& knobs) { knobs.needs.column(column::tier); }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor helped = (step.named(column::tier) > 0.5).to(at::kDouble);
    const auto baseline = [&](const at::Tensor& half) {
      const at::Tensor several = step.shape.group_sum(half) > 1;
      return step.shape.over_rollouts(step.shape.group_mean(step.reward, half) * several);
    };
    return step.shape.over_tokens(step.reward -
                                  at::where(helped > 0, baseline(helped), baseline(1.0 - helped)));
  }
};

}  // namespace rollcall::objective
