// Weight reference_ratio: importance weight of a whole answer, under the assumption that the
// reference policy wrote it.
//   w_it = clip(exp(sum_t (current_it - reference_it)), 1 - reference_clip, 1 + reference_clip),
//   log held within +-20, frozen
// Source: A-LoL, arXiv:2305.14718, eq. 3 (clip 0.9; one ratio for the response).
// Shapes: [N] -> [N].   Knobs: reference_clip.
// What differs from ratio: the weight is not differentiated, and it is measured from the reference
//   instead of the policy at the start of the update.
// Acts at every update, on the update's rollouts.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct ReferenceRatio {
  static constexpr std::string_view name = "reference_ratio",
                                    formula =
                                        "w_it = clip(exp(sum_t (current - reference)), 1-c, 1+c)";
  double width = 0.9;

  void bind(Knobs& knobs) {
    knobs.number("reference_clip", width, {0.0, 1.0}, "half-width c of the interval of weights");
    knobs.needs.column(column::current_logprob);
    knobs.needs.column(column::reference_logprob);
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor log_ratio = step.shape
                                     .rollout_sum(step.named(column::current_logprob) -
                                                  step.named(column::reference_logprob))
                                     .clamp(-20.0, 20.0);
    return {step.shape.over_tokens(log_ratio.exp().clamp(1.0 - width, 1.0 + width)), {}};
  }
};

}  // namespace rollcall::objective
