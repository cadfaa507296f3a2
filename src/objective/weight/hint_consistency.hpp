// Weight hint_consistency: given tokens count fully if the policy finds them as likely as its own
// tokens, less if it does not, and not at all if the rollout failed.
//   given token t of rollout i: keep_it = 0 where i is not correct, else
//   w_it = min(1, exp(old_it - mean of old over i's own tokens));  own tokens: w_it = 1
// Source: ADHint, arXiv:2512.13095 (consistency-based gradient modulation, selective masking for
//   hint preservation; the formula is inferred).
// Shapes: columns given [N], correct [B] -> [N].   Knobs: none.
// What differs from none: a given beginning is not unlearned when its continuation failed, and
//   unlikely words of a different author pull less. A rollout without tokens of its own is compared
//   with certainty. Dropped tokens leave loss, regularizers and denominators.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct HintConsistency {
  static constexpr std::string_view
      name = "hint_consistency",
      formula = "given tokens: w = min(1, exp(old - mean old of own)), dropped where i failed";

  void bind(Knobs& knobs) {
    knobs.needs.column(column::given);
    knobs.needs.column(column::correct);
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor given = step.named(column::given) > 0.5,
                     own = given.logical_not().to(at::kDouble), &old = step.columns.old_logprob;
    const at::Tensor usual =
        step.shape.rollout_sum(old * own) / step.shape.rollout_sum(own).clamp_min(1);
    const at::Tensor near = (old - step.shape.over_tokens(usual)).clamp(-700.0, 0.0).exp(),
                     failed = step.shape.over_tokens(step.named(column::correct)) < 0.5;
    return {at::where(given, near, 1.0), given.logical_and(failed).logical_not().to(at::kDouble)};
  }
};

}  // namespace rollcall::objective
