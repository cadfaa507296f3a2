// Reward components: the reward is made of the verifier's components, each by its weight.
//   sum: r_i = sum_k w_k c_ki;  mean: that over sum_k |w_k|;  product: prod_k max(c_ki, 0)^w_k;
//   conditional: the sum where the answer is correct, else 0
//   min: min_k w_k c_ki;  cautious: mean_k w_k c_ki - variance_lambda var_k w_k c_ki, the variance
//   with n - 1;  both over the k with w_k != 0
// Source: sum: RL-Struct, arXiv:2512.00319; mean over a checklist: ACE-RL, arXiv:2509.04903. Both
//   are taken from descriptions. Their weights were not found; here all are 1. product and
//   conditional are other common combinations, in this project's form. min and cautious: WCO and
//   UWO of an ensemble of scorers, arXiv:2310.02743 (lambda 0.1 for PPO, 0.5 for best-of-n).
// Shapes: [B] columns component/NAME -> [B].   Knobs: combine, component_weights, omit_components,
//   variance_lambda.
// What differs: it replaces the verifier's own sum. In a product any component of 0 makes the
//   reward 0. conditional pays the rest only to correct answers, so nothing can be earned in place
//   of correctness. Under min and cautious one scorer that is fooled pays nothing. In a
//   conversation the rewards of single turns count only under sum and mean. Otherwise the whole
//   reward counts at the last turn, because rewards added turn by turn would be earned instead of
//   it. Without component columns the reward stays.
#pragma once

#include "objective/components.hpp"

namespace rollcall::objective {

struct Components {
  static constexpr std::string_view
      name = "components",
      formula =
          "r_i = sum_k w_k c_ki, or its mean, a product of powers, the sum where correct, min, mean - lambda var";
  enum class Combine { sum, mean, product, conditional, min, cautious };
  ComponentWeights weights;
  Combine combine = Combine::sum;
  double lambda = 0.1;

  void bind(Knobs& knobs) {
    knobs.choice("combine", combine, {"sum", "mean", "product", "conditional", "min", "cautious"},
                 "how the components make one reward");
    knobs.number("variance_lambda", lambda, {0.0, 1e6},
                 "cautious: how much of the components' variance is taken off their mean");
    weights.bind(knobs);
    knobs.refuse_if(
        [this] {
          return combine == Combine::product &&
                 std::any_of(weights.given.begin(), weights.given.end(),
                             [](const auto& w) { return w.second < 0; });
        },
        "reward.component_weights has a negative weight, and reward.combine is product",
        "a component of 0 would earn an infinite reward",
        "choose sum, mean or conditional, or weights of at least 0");
    knobs.needs.column([this] { return combine == Combine::conditional; }, column::correct);
  }

  ShapedReward operator()(const Step& step) const {
    const auto [counted, total] = weights.counted(step);
    if (!counted.empty() && (combine == Combine::min || combine == Combine::cautious))
      return {ensemble(counted), {}, {}};
    at::Tensor reward;
    for (const auto& [component, values] : counted) {
      const double w = weights.of(component);
      const at::Tensor part =
          combine == Combine::product ? values.clamp_min(0.0).pow(w) : w * values;
      reward = !reward.defined()             ? part
               : combine == Combine::product ? reward * part
                                             : reward + part;
    }
    if (!reward.defined()) return {};
    if (combine == Combine::mean) reward = reward / total;
    if (combine == Combine::conditional)
      reward = at::where(step.named(column::correct) > 0, reward, 0.0);
    ShapedReward shaped{reward, {}, {}};
    // The environment's components are sums over turns, and so are sums and means of them.
    shaped.keeps_turns = combine == Combine::sum || combine == Combine::mean;
    return shaped;
  }

 private:
  /// [B] the smallest of the weighted components, or their mean minus their variance.
  at::Tensor ensemble(const std::map<std::string, at::Tensor>& counted) const {
    std::vector<at::Tensor> scores;
    for (const auto& [component, values] : counted)
      if (const double w = weights.of(component); w != 0.0) scores.push_back(w * values);
    const at::Tensor of_scorers = at::stack(scores);  // [K,B]
    if (combine == Combine::min) return of_scorers.amin(0);
    const at::Tensor mean = of_scorers.mean(0);
    return mean - lambda * (of_scorers - mean).square().sum(0) /
                      std::max(double(scores.size()) - 1.0, 1.0);
  }
};

}  // namespace rollcall::objective
