// Regularizer entropy: a bonus for an undecided policy.
//   loss -= entropy_coef * H_it, H the entropy of the full softmax at the sampling temperature
// Source: Mnih et al. 2016, arXiv:1602.01783, section 4; coefficient 0.001 is verl's long-standing
//   default.
// Shapes: entropy [M] -> [M].   Knobs: entropy_coef.
// What differs from none: the only piece with a derivative in the entropy column. A negative
//   coefficient penalises entropy.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Entropy {
  static constexpr std::string_view name = "entropy", formula = "-entropy_coef * H_it";
  double coef = 0.001;

  void bind(Knobs& knobs) {
    knobs.number("entropy_coef", coef, {-1e6, 1e6}, "weight of the mean entropy in the loss");
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    return -coef * micro_batch.entropy;
  }
};

}  // namespace rollcall::objective
