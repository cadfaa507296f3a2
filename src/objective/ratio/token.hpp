// Ratio token: probability of the token now over its probability at the start of the update.
//   rho_it = exp(lp_it - old_it), log-ratio held within +-20
// Source: Proximal Policy Optimization, arXiv:1707.06347, eq. 6; the bound on the log-ratio is verl's and keeps everything finite.
// Shapes: [M] -> [M].   Knobs: none.
// What differs: nothing. Where the bits of lp and old agree the ratio is exactly 1.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct TokenRatio {
  static constexpr std::string_view name = "token", formula = "rho_it = exp(lp_it - old_it)";

  at::Tensor operator()(const Leaf& leaf) const { return (leaf.logprob - leaf.old_logprob).clamp(-20.0, 20.0).exp(); }
};

}  // namespace rollcall::objective
