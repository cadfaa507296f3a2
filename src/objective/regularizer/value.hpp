// Regularizer value: the clipped squared error of the value head.
//   loss += value_coef / 2 max((V - R)^2, (clip(V, V_old - c, V_old + c) - R)^2)
// Source: PPO's released code (OpenAI baselines, ppo2), after Proximal Policy Optimization,
//   arXiv:1707.06347, eq. 9; width 0.5 is verl's default.
// Shapes: value [M], column value [N] -> [M].   Knobs: value_coef, value_clip, value_rollouts.
// What differs from none: it trains the value head and nothing else. R is the advantage piece's
//   target (gae, macro_gae); with another advantage piece it is the rollout's reward. With
//   value_rollouts finished, rollouts that a limit on tokens or turns cut are left out, because
//   their return is unknown.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Value {
  static constexpr std::string_view
      name = "value",
      formula = "value_coef / 2 max((V - R)^2, (clip(V, V_old -+ value_clip) - R)^2)";
  enum class Rollouts { all, finished };
  double coef = 1.0, width = 0.5;
  Rollouts rollouts = Rollouts::all;

  void bind(Knobs& knobs) {
    knobs.number("value_coef", coef, {0.0, 1e6}, "weight of the value's loss");
    knobs.number("value_clip", width, {0.0, 1e6},
                 "how far the value may move in one update before it stops learning; 0: no bound");
    knobs.choice("value_rollouts", rollouts, {"all", "finished"},
                 "rollouts that the value learns from");
    knobs.needs.column(column::value);
    knobs.needs.value_head = true;
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const Step& step = micro_batch.step;
    const at::Tensor target = step.value_target.defined()
                                  ? micro_batch.take(step.value_target)
                                  : micro_batch.over_tokens(micro_batch.take_rollouts(step.reward));
    at::Tensor error = (micro_batch.value - target).square();
    if (width > 0.0) {
      const at::Tensor old = micro_batch.take(step.named(column::value));
      error = at::maximum(error,
                          (old + (micro_batch.value - old).clamp(-width, width) - target).square());
    }
    if (rollouts == Rollouts::finished)
      error = error * micro_batch.over_tokens(micro_batch.take_rollouts(
                          step.columns.truncated.logical_not().to(at::kDouble)));
    return 0.5 * coef * error;
  }
};

}  // namespace rollcall::objective
