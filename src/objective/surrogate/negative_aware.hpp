// Surrogate negative_aware: maximum likelihood of right answers, and of wrong ones under the
// implied policy that answers wrongly.
//   A >= 0: L = -A log rho;  A < 0: L = -|A| (1 - p)/p log max((1 - p rho) / (1 - p), floor), the
//   max letting the derivative through
//   p = share of the group's rollouts with a reward above its mean (0/1 rewards: its success rate),
//   within [1e-6, 1 - 1e-6]
// Source: Negative-aware Fine-Tuning, arXiv:2505.18116: A of right and |A| (1 - p)/p of wrong
//   answers are its prompt weight, 1 - p when A is centred, sqrt((1 - p)/p) when it is standardised
//   with n.
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: negative_floor.
// What differs from clip: on-policy the derivative is the same. Away from it, right answers never
//   stop growing, and wrong ones are pushed less and less.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct NegativeAware {
  static constexpr std::string_view
      name = "negative_aware",
      formula = "A >= 0: -A log rho; A < 0: -|A| (1-p)/p log max((1 - p rho) / (1 - p), floor)";
  double floor = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("negative_floor", floor, {1e-6, 1.0},
                 "least likelihood ratio of the implied negative policy");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const Step& step = micro_batch.step;
    const at::Tensor
        mean = step.shape.over_rollouts(step.shape.group_mean(step.reward)),
        above = (step.reward > mean).logical_and(differing(step.reward, mean)).to(at::kDouble);
    const at::Tensor p =
        micro_batch
            .take(step.shape.over_tokens(step.shape.over_rollouts(step.shape.group_mean(above))))
            .clamp(1e-6, 1.0 - 1e-6);
    const at::Tensor implied = (1.0 - p * ratio) / (1.0 - p);
    const at::Tensor held = implied + (implied.clamp_min(floor) - implied).detach();
    return {at::where(micro_batch.advantage >= 0, -micro_batch.advantage * ratio.log(),
                      micro_batch.advantage * (1.0 - p) / p * held.log()),
            {}};
  }
};

}  // namespace rollcall::objective
