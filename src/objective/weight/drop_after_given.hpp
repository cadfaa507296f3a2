// Weight drop_after_given: if a rollout was given a beginning, the tokens after it are not trained,
// and the beginning has no policy loss.
//   rollouts with a given token: w_it = 0, and keep_it = 0 after the last given token;  others: 1
// Source: InT, arXiv:2601.14209 (no loss after the corrected step).
// Shapes: column given [N] -> [N].   Knobs: none.
// What differs from none: such a rollout contributes only the likelihood of its beginning, by the
//   regularizer given_nll. The tokens after it only say whether the correction helped.
#pragma once

#include "objective/largest.hpp"
#include "objective/pieces.hpp"

namespace rollcall::objective {

struct DropAfterGiven {
  static constexpr std::string_view
      name = "drop_after_given",
      formula = "rollouts with given tokens: w = 0, keep = 0 behind the last of them";

  void bind(Knobs& knobs) { knobs.needs.column(column::given); }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor given = step.named(column::given) > 0.5;
    // for each token's rollout: the place after the last given token, or 0 if there is none
    const at::Tensor end = step.shape.over_tokens(
                         largest_of(step.shape.rollouts, step.shape.rollout,
                                    (step.shape.place + 1).to(at::kDouble) * given, 0.0)),
                     begun = end > 0;
    return {begun.logical_not().to(at::kDouble),
            begun.logical_and(step.shape.place >= end).logical_not().to(at::kDouble)};
  }
};

}  // namespace rollcall::objective
