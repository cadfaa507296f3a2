// Aggregate kind-mean: a mean over the tokens of the policy's rollouts (own), plus a mean over the
// tokens of an expert's rollouts.
//   own: 1 / trained tokens of own rollouts;  expert (column expert): 1 / trained tokens of experts
// Source: CHORD, arXiv:2508.11408, and its code in Trinity-RFT: both losses are means over tokens.
// Shapes: [N] -> [N] coefficients.   Knobs: none.
// What differs from token-mean: the share of expert rollouts in the step does not change the size
//   of either loss. Without experts it is token-mean.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct KindMean {
  static constexpr std::string_view name = "kind-mean",
                                    formula =
                                        "own: sum_it L_it / N_own; expert: sum_it L_it / N_expert";

  void bind(Knobs& knobs) { knobs.needs.column(column::expert); }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor expert = step.named(column::expert) > 0.5, length = step.trained_length;
    const at::Tensor experts = (length * expert.to(at::kDouble)).sum(),
                     own = length.sum() - experts;
    return step.shape.over_tokens(
        at::where(expert, experts.clamp_min(1), own.clamp_min(1)).reciprocal());
  }
};

}  // namespace rollcall::objective
