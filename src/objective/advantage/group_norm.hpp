// Advantage group_norm: rewards standardised within their group.
//   A_i = (r_i - mean_g) / (std_g + eps)
// Source: DeepSeekMath, arXiv:2402.03300, section 4.1.2. The paper leaves the estimator of the
//   spread open. The unbiased one (n - 1) and eps 1e-6 are taken from verl. moments_of trained
//   (PODS, arXiv:2504.13818): mean and spread are taken over the rollouts that the scheduler lets
//   train; finished (Klear-Reasoner, arXiv:2508.07629): over the rollouts that no limit on tokens
//   or turns cut.
// Shapes: [B] rewards -> [N].   Knobs: adv_eps, moments_of.
// What differs: every group gets unit spread, so rare successes and rare failures weigh most. Equal
//   rewards give 0, and a group of one keeps its plain reward (spread 1, see Step::baseline).
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct GroupNorm {
  static constexpr std::string_view name = "group_norm",
                                    formula =
                                        "A_i = (r_i - mean_g) / (std_g + adv_eps), std with n - 1";
  enum class Of { drawn, trained, finished };
  double eps = 1e-6;
  Of of = Of::drawn;

  void bind(Knobs& knobs) {
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to the group's standard deviation");
    knobs.choice(
        "moments_of", of, {"drawn", "trained", "finished"},
        "whose mean and spread: of all rollouts of the group, of those that the scheduler lets train, or of those that were not cut off");
  }

  at::Tensor operator()(const Step& step) const {
    at::Tensor counted = at::ones_like(step.reward);
    if (of == Of::trained && step.columns.trains.defined()) counted = step.columns.trains;
    if (of == Of::finished) counted = step.columns.truncated.logical_not().to(at::kDouble);
    const at::Tensor n = step.shape.group_sum(counted), several = n > 1;
    const at::Tensor centred =
        step.reward -
        step.shape.over_rollouts(step.shape.group_mean(step.reward, counted) * several);
    const at::Tensor variance =
        step.shape.group_sum(counted * centred.square()) / (n - 1).clamp_min(1);
    const at::Tensor spread = at::where(several, variance.sqrt() + eps, 1.0);
    return step.shape.over_tokens(centred / step.shape.over_rollouts(spread));
  }
};

}  // namespace rollcall::objective
