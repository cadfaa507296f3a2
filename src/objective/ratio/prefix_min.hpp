// Ratio prefix_min: the token's ratio times the smallest ratio before it.
//   w_it = rho_it sg(min_{j < t} rho_ij), w_i0 = rho_i0;  rho_it = exp(lp_it - rollout_it);
//   log-ratios within +-20
// Source: A Step Back: Prefix Importance Ratio Stabilizes Policy Optimization (MinPRO),
//   arXiv:2601.22718. The minimum is frozen, which is inferred: otherwise a token would be pushed
//   because of the tokens that follow it.
// Shapes: [M] -> [M].   Knobs: none.
// What differs from token: it takes the place of the product of all ratios so far, which grows or
//   vanishes with the length. One unlikely token reduces the ratio of all tokens after it.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>

namespace rollcall::objective {

struct PrefixMinRatio {
  static constexpr std::string_view
      name = "prefix_min",
      formula = "w_it = rho_it sg(min_{j<t} rho_ij), rho against the rollout policy";

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const at::Tensor d =
        (micro_batch.logprob - micro_batch.take(micro_batch.step.columns.rollout_logprob))
            .clamp(-20.0, 20.0);
    const at::Tensor frozen = d.detach().contiguous(),
                     place = micro_batch.take(micro_batch.step.shape.place).contiguous();
    at::Tensor smallest = at::zeros_like(frozen);
    const auto* in = frozen.const_data_ptr<double>();
    const auto* at_place = place.const_data_ptr<std::int64_t>();
    auto* out = smallest.data_ptr<double>();
    // A running minimum in one pass is cheaper than any form with tensors.
    for (std::int64_t t = 1; t < micro_batch.tokens(); ++t) {
      if (at_place[t] > 0) out[t] = at_place[t] == 1 ? in[t - 1] : std::min(out[t - 1], in[t - 1]);
    }
    return (d + smallest).clamp(-20.0, 20.0).exp();
  }
};

}  // namespace rollcall::objective
