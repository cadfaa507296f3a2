// Aggregate kind-mean: own rollouts and an expert's rollouts each over their own count.
//   own: 1 / (B_own T_i);  expert (column expert): 1 / trained tokens of experts
// Source: CHORD, arXiv:2508.11408: GRPO's mean over rollouts for the one kind, the mean over tokens of fine-tuning for the other.
// Shapes: [N] -> [N] coefficients.   Knobs: none.
// What differs from seq-mean-token-mean: the share of expert rollouts in the step changes neither loss's size. Without experts it is the same.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct KindMean {
  static constexpr std::string_view name = "kind-mean", formula = "own: sum_i (sum_t L_it / T_i) / B_own; expert: sum_it L_it / N_expert";

  void bind(Knobs& knobs) { knobs.needs_column(column::expert); }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor expert = step.named(column::expert) > 0.5, length = step.trained_length;
    const at::Tensor own = (length > 0).logical_and(expert.logical_not()).sum().clamp_min(1), tokens = (length * expert.to(at::kDouble)).sum().clamp_min(1);
    return step.over_tokens(at::where(expert, tokens, length.clamp_min(1) * own.to(at::kDouble)).reciprocal());
  }
};

}  // namespace rollcall::objective
