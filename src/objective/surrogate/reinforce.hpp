// Surrogate reinforce: log-probability weighted by advantage.
//   L = -A lp
// Source: Williams 1992; for language models Back to Basics, arXiv:2402.14740, eq. 6.
// Shapes: logprob [M], advantage [M] -> [M].   Knobs: none.
// What differs from clip: it does not look at the ratio, so it is the policy gradient only for
//   tokens that the current policy sampled.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Reinforce {
  static constexpr std::string_view name = "reinforce", formula = "L = -A lp";

  static void bind(Knobs& knobs) { knobs.loss_use.reads_ratio = false; }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch,
                           const at::Tensor& /*ratio*/) const {
    return {-micro_batch.advantage * micro_batch.logprob, {}};
  }
};

}  // namespace rollcall::objective
