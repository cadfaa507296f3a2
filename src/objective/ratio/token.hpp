// Ratio token: probability of the token now over its probability at the start of the update.
//   rho_it = exp(lp_it - old_it), log-ratio held within +-log_ratio_bound
// Source: Proximal Policy Optimization, arXiv:1707.06347, eq. 6; the bound of 20 is verl's and
//   keeps everything finite; StableReinforce, arXiv:2505.02835, holds the ratio within 1e-3 and 1e3
//   (its pre-clip).
// Shapes: [M] -> [M].   Knobs: log_ratio_bound.
// What differs: nothing. Where the bits of lp and old agree the ratio is exactly 1.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct TokenRatio {
  static constexpr std::string_view name = "token", formula = "rho_it = exp(lp_it - old_it)";
  double bound = 20.0;

  void bind(Knobs& knobs) {
    knobs.number("log_ratio_bound", bound, {1e-3, 20.0},
                 "largest log-ratio, up and down; beyond it there is no derivative");
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    return (micro_batch.logprob - micro_batch.old_logprob).clamp(-bound, bound).exp();
  }
};

}  // namespace rollcall::objective
