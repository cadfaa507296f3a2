// Surrogate unclipped: the importance-weighted policy gradient, without a bound.
//   L = -rho A
// Source: Proximal Policy Optimization, arXiv:1707.06347, eq. 6 (conservative policy iteration).
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: none.
// What differs from clip: there is no trust interval, so something else (a regularizer, a weight)
//   must keep the policy near.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Unclipped {
  static constexpr std::string_view name = "unclipped", formula = "L = -rho A";

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    return {-ratio * micro_batch.advantage, {}};
  }
};

}  // namespace rollcall::objective
