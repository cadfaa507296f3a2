// Ratio sequence: geometric mean of the rollout's token ratios, the same for all its tokens.
//   s_i = exp(1 / T_i * sum_t (lp_it - old_it)), log-ratio held within +-20
// Source: Group Sequence Policy Optimization, arXiv:2507.18071, eq. 7.
// Shapes: [M] -> [M].   Knobs: none.
// What differs from token: a rollout is clipped as a whole, and every token gets the rollout's mean
//   derivative.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct SequenceRatio {
  static constexpr std::string_view name = "sequence",
                                    formula = "s_i = exp(mean_t (lp_it - old_it))";

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    return micro_batch.over_tokens(
        micro_batch.rollout_mean(micro_batch.logprob - micro_batch.old_logprob)
            .clamp(-20.0, 20.0)
            .exp());
  }
};

}  // namespace rollcall::objective
