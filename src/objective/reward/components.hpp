// Reward components: the reward is made of the verifier's components, each by its weight.
//   sum: r_i = sum_k w_k c_ki;  mean: that over sum_k |w_k|;  product: prod_k max(c_ki, 0)^w_k;  conditional: the sum where the answer is correct, else 0
// Source: sum: RL-Struct, arXiv:2512.00319; mean over a checklist: ACE-RL, arXiv:2509.04903. From their descriptions; weights were not found, here all 1.
//   product and conditional are the other common ways to combine, this project's forms.
// Shapes: [B] columns component/NAME -> [B].   Knobs: combine, component_weights, omit_components.
// What differs: replaces the verifier's own sum. In a product any component of 0 takes all; conditional pays the rest to correct answers alone, so that
//   nothing can be earned in place of correctness. Without component columns the reward stays.
#pragma once

#include "objective/components.hpp"

namespace rollcall::objective {

struct Components {
  static constexpr std::string_view name = "components", formula = "r_i = sum_k w_k c_ki, or its mean, a product of powers, or the sum where correct";
  enum class Combine { sum, mean, product, conditional };
  ComponentWeights weights;
  Combine combine = Combine::sum;

  void bind(Knobs& knobs) {
    knobs.choice("combine", combine, {"sum", "mean", "product", "conditional"}, "how the components make one reward");
    weights.bind(knobs);
    knobs.refuse_if(
        [this] { return combine == Combine::product && std::any_of(weights.given.begin(), weights.given.end(), [](const auto& w) { return w.second < 0; }); },
        "reward.component_weights has a negative weight, and reward.combine is product", "a component of 0 would earn an infinite reward",
        "choose sum, mean or conditional, or weights of at least 0");
    knobs.needs_column([this] { return combine == Combine::conditional; }, column::correct);
  }

  ShapedReward operator()(const Step& step) const {
    at::Tensor reward;
    const auto [counted, total] = weights.counted(step);
    for (const auto& [component, values] : counted) {
      const double w = weights.of(component);
      const at::Tensor part = combine == Combine::product ? values.clamp_min(0.0).pow(w) : w * values;
      reward = !reward.defined() ? part : combine == Combine::product ? reward * part : reward + part;
    }
    if (!reward.defined()) return {};
    if (combine == Combine::mean) reward = reward / total;
    if (combine == Combine::conditional) reward = at::where(step.named(column::correct) > 0, reward, 0.0);
    return {reward, {}, {}};
  }
};

}  // namespace rollcall::objective
