// Reward contrast: a behaviour is paid where it helps in the group, and charged where it harms.
//   r_i += m_g contrast_weight [rollout i contains behaviour_token];  m_g = +1 where the mean of
//   correct on the side of the behaviour is above that of the others by more than
//   contrast_margin, -1 where below, else 0; 0 too where one of the sides is empty. A rollout that
//   was given a text of openings.texts is on the side of its text, and the text behaviour_opening
//   is on the side of the behaviour. A rollout without a text is on the side of its own choice.
// Source: GeometryZero (GCPO), arXiv:2506.07160: its groups are told, and the use is paid. From its
//   description: margin (0.1 as in the catalogue's example) and weight (0.5) are this project's.
// Shapes: [N] tokens, [B] columns correct and opening -> [B].   Knobs: behaviour_token,
//   behaviour_opening, contrast_weight, contrast_margin.
// What differs from mode_reward: no behaviour is preferred in itself. Without openings the policy
//   chooses, where the paper tells half of the rollouts to use it.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Contrast {
  static constexpr std::string_view
      name = "contrast",
      formula = "r_i += m contrast_weight used_i, m = +-1 where use helps or harms the group";
  double token = 0.0, opening = 1.0, weight = 0.5, margin = 0.1;

  void bind(Knobs& knobs) {
    knobs.number("behaviour_token", token, {0.0, 1e9}, "id of the token that shows the behaviour");
    knobs.must_be_set();
    knobs.number("behaviour_opening", opening, {1.0, 1e9},
                 "number of the text of openings.texts that tells a rollout to show it");
    knobs.number("contrast_weight", weight, {0.0, 1e6}, "what the behaviour gains or costs");
    knobs.number("contrast_margin", margin, {0.0, 1.0}, "difference of success rates that counts");
    knobs.needs.column(column::correct);
    knobs.needs.column(column::opening);
  }

  ShapedReward operator()(const Step& step) const {
    if (!step.columns.token.defined()) return {};
    const at::Tensor used =
        (step.shape.rollout_sum((step.columns.token == std::int64_t(token)).to(at::kDouble)) > 0)
            .to(at::kDouble);
    const at::Tensor& begun = step.named(column::opening);
    const at::Tensor told = at::where(begun > 0.5, (begun == opening).to(at::kDouble), used),
                     other = 1.0 - told;
    const at::Tensor correct = (step.named(column::correct) > 0).to(at::kDouble),
                     with = step.shape.group_sum(told), without = step.shape.group_sum(other);
    const at::Tensor gap = step.shape.group_sum(correct * told) / with.clamp_min(1.0) -
                           step.shape.group_sum(correct * other) / without.clamp_min(1.0);
    const at::Tensor counts = (with > 0).logical_and(without > 0).logical_and(gap.abs() > margin);
    return {step.reward + weight * used * step.shape.over_rollouts(gap.sign() * counts), {}, {}};
  }
};

}  // namespace rollcall::objective
