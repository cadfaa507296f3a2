// Ratio sequence_token: the rollout's ratio in value, the token's own in derivative.
//   s_it = sg(s_i) exp(lp_it - sg(lp_it)),  s_i = exp(mean_t (lp_it - old_it)), log of s_it held
//   within -20 and 10
// Source: Group Sequence Policy Optimization, arXiv:2507.18071, eqs. 13 and 14 (GSPO-token); the
//   bound 10 is verl's, beyond which the derivative stops as well.
// Shapes: [M] -> [M].   Knobs: none.
// What differs from sequence: if all tokens of a rollout have the same advantage there is no
//   difference. Otherwise each token's derivative follows its own advantage.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct SequenceTokenRatio {
  static constexpr std::string_view name = "sequence_token",
                                    formula =
                                        "s_it = sg(exp(mean_t (lp - old))) exp(lp_it - sg(lp_it))";

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const at::Tensor frozen = micro_batch.logprob.detach();
    const at::Tensor sequence =
        micro_batch.over_tokens(micro_batch.rollout_mean(frozen - micro_batch.old_logprob));
    return (sequence + (micro_batch.logprob - frozen)).clamp(-20.0, 10.0).exp();
  }
};

}  // namespace rollcall::objective
