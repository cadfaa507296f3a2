// Advantage decoupled_norm: every reward component is standardised within its group by itself,
// their weighted sum over the step.
//   a_i = sum_k w_k (r_ki - mean_kg) / (std_kg + eps), std with n - 1;  A_i = (a_i - mean(a)) /
//   (std(a) + eps) over the step's rollouts with tokens, n - 1 too
// Source: GDPO, arXiv:2601.05242, section 3 (equal weights by default); eps 1e-4 and n - 1 as in
//   its TRL trainer.
// Shapes: [B] columns component/NAME -> [N].   Knobs: adv_eps, component_weights, omit_components.
// What differs from group_norm: a sum of rewards gives the same advantage to different mixes of
//   components. Here the mixes stay apart. Without component columns the reward is the only
//   component. A group of one keeps its plain values. Every verifier of this project fills the
//   components correct and format, so format counts here as much as correctness, whatever weight
//   the reward gives it, unless component_weights changes that.
#pragma once

#include "objective/components.hpp"

namespace rollcall::objective {

struct DecoupledNorm {
  static constexpr std::string_view
      name = "decoupled_norm",
      formula = "A = whiten(sum_k w_k (r_k - mean_kg) / (std_kg + adv_eps))";
  double eps = 1e-4;
  ComponentWeights weights;

  void bind(Knobs& knobs) {
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to every standard deviation");
    weights.bind(knobs);
    knobs.reward_use.trains_on(
        "the verifier's components, each by itself", [] { return true; },
        [this](const Step& step) { return weights.sum(step); });
  }

  at::Tensor operator()(const Step& step) const {
    at::Tensor sum;
    for (const auto& [component, values] : weights.counted(step).first) {
      const double weight = weights.of(component);
      const at::Tensor one =
          weight == 1.0 ? standardised(step, values) : weight * standardised(step, values);
      sum = sum.defined() ? sum + one : one;
    }
    if (!sum.defined()) sum = standardised(step, step.reward);
    const at::Tensor counted = (step.shape.length > 0).to(at::kDouble), count = counted.sum();
    const at::Tensor centred = sum - mean_of(sum, counted);
    return step.shape.over_tokens(
        centred /
        (((centred.square() * counted).sum() / (count - 1.0).clamp_min(1.0)).sqrt() + eps));
  }

  at::Tensor standardised(const Step& step, const at::Tensor& values) const {
    const at::Tensor alone = step.shape.over_rollouts(step.shape.group_size) == 1;
    const at::Tensor centred = values - step.shape.over_rollouts(step.shape.group_mean(values));
    const at::Tensor deviation =
        (step.shape.group_sum(centred.square()) / (step.shape.group_size - 1).clamp_min(1)).sqrt();
    return at::where(alone, values, centred / (step.shape.over_rollouts(deviation) + eps));
  }
};

}  // namespace rollcall::objective
