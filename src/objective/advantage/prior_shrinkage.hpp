// Advantage prior_shrinkage: the baseline is the group's mean where it contradicts the prior, the
// prior where it does not.
//   V = low + (high - low) predicted;  q = (high - low)^2 / 4 / n;  D = max(0, (mean_g - V)^2 - q);
//   w = D / (D + q);  A_i = r_i - w mean_g - (1 - w) V
// Source: V_0.5, arXiv:2603.10848 (rewards in {-1, 1} there, q = 1 / n).
// Shapes: [B] -> [N].   Knobs: prior_value, reward_low, reward_high.
// What differs from group_center: with few rollouts the mean is noisy, so a prior (column
//   predicted, success in [0, 1]) that the mean does not contradict beyond this noise is used
//   instead of the mean. A group of one is like any other.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct PriorShrinkage {
  static constexpr std::string_view
      name = "prior_shrinkage",
      formula = "A_i = r_i - w mean_g - (1-w) V, w = D / (D + q), D = max(0, (mean_g-V)^2 - q)";
  enum class Value { predicted, prior };
  Value value = Value::predicted;
  double low = 0.0, high = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("reward_low", low, {-1e6, 1e6}, "reward of a failure");
    knobs.number("reward_high", high, {-1e6, 1e6}, "reward of a success");
    knobs.reward_use.takes_largest([] { return true; }, [this] { return high; }, "reward_high");
    knobs.refuse_if([this] { return high <= low; },
                    "advantage.reward_high is not above advantage.reward_low",
                    "the prior has no scale", "state the rewards of failure and success");
    knobs.choice("prior_value", value, {"predicted", "prior"},
                 "V: a value model's prediction, or the prompt's tracked success");
    knobs.needs.column([this] { return value == Value::predicted; }, column::predicted);
    knobs.needs.column([this] { return value == Value::prior; }, column::prior);
    knobs.reward_use.subtracts_verifiers(
        [] { return true; },
        [this] { return std::string(value == Value::prior ? column::prior : column::predicted); });
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor expected =
        low + (high - low) * step.named(value == Value::prior ? column::prior : column::predicted);
    const at::Tensor noise =
        step.shape.over_rollouts((high - low) * (high - low) / 4.0 / step.shape.group_size);
    const at::Tensor mean = step.shape.over_rollouts(step.shape.group_mean(step.reward));
    const at::Tensor signal = ((mean - expected).square() - noise).clamp_min(0.0),
                     w = signal / (signal + noise);
    return step.shape.over_tokens(step.reward - w * mean - (1.0 - w) * expected);
  }
};

}  // namespace rollcall::objective
