// Aggregate seq-mean-token-sum-norm: sum over each rollout's tokens over a constant length, mean
// over rollouts.
//   loss = sum_i (sum_t L_it / H) / B
// Source: Dr. GRPO, arXiv:2503.20783, section 3.2 and its released code (constant = generation
//   budget); verl's loss_agg_mode of that name.
// Shapes: [N] -> [N] coefficients.   Knobs: horizon.
// What differs from seq-mean-token-sum: a constant factor, which keeps the size of the derivative
//   near that of seq-mean-token-mean.
#pragma once

#include "base/errors/error.hpp"
#include "objective/pieces.hpp"

namespace rollcall::objective {

struct SeqMeanTokenSumNorm {
  static constexpr std::string_view name = "seq-mean-token-sum-norm",
                                    formula = "sum_i (sum_t L_it / H) / B";
  double horizon = 0.0;

  void bind(Knobs& knobs) {
    knobs.number("horizon", horizon, {0.0, 1e9},
                 "the constant length H; 0: the sampler's token limit");
  }

  at::Tensor operator()(const Step& step) const {
    const double length = horizon > 0.0 ? horizon : step.normalizer.horizon;
    require<ConfigError>(length > 0.0,
                         "aggregate seq-mean-token-sum-norm has no length to divide by",
                         "the sampler states no token limit", "set the knob aggregate.horizon");
    return at::full({step.shape.tokens}, 1.0 / (step.normalizer.rollouts * length), at::kDouble);
  }
};

}  // namespace rollcall::objective
