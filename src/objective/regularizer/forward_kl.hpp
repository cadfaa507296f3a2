// Regularizer forward_kl: raises the likelihood of everything that was sampled.
//   loss -= forward_kl_coef * lp
// Source: arXiv:2509.24203 (REP: the gradient of KL(sampler || policy)); AsymRE, arXiv:2506.20520,
//   where it is a baseline below the mean.
// Shapes: [M] -> [M].   Knobs: forward_kl_coef.
// What differs from kl: no anchor's log-probability enters. With surrogate reinforce it is exactly
//   a baseline lower by the coefficient.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct ForwardKl {
  static constexpr std::string_view name = "forward_kl", formula = "-forward_kl_coef * lp";
  double coef = 0.1;

  void bind(Knobs& knobs) {
    knobs.number("forward_kl_coef", coef, {0.0, 1e6}, "how much the baseline is lowered");
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    return -coef * micro_batch.logprob;
  }
};

}  // namespace rollcall::objective
