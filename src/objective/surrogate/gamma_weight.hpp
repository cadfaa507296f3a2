// Surrogate gamma_weight: log-probability weighted by a smooth function of the frozen ratio that is
// 1 at 1 and fades on both sides.
//   L = -sg(rho^k exp(lambda (1 - rho))) A lp,  k and lambda by the sign of A
// Source: VESPO, arXiv:2602.10693; TRL's loss type "vespo" (k 2 and lambda 3 where A > 0, else 3
//   and 2), there on the ratio of whole rollouts.
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: gamma_k_pos, gamma_lambda_pos, gamma_k_neg,
//   gamma_lambda_neg.
// What differs from cispo: no bound has to be set. A weight that is too large is reduced towards 0
//   instead of being held at a bound.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct GammaWeight {
  static constexpr std::string_view name = "gamma_weight",
                                    formula = "L = -sg(rho^k exp(lambda (1-rho))) A lp";
  double k_pos = 2.0, lambda_pos = 3.0, k_neg = 3.0, lambda_neg = 2.0;

  void bind(Knobs& knobs) {
    knobs.number("gamma_k_pos", k_pos, {0.0, 10.0}, "exponent where A > 0");
    knobs.number("gamma_lambda_pos", lambda_pos, {0.0, 100.0}, "decay where A > 0");
    knobs.number("gamma_k_neg", k_neg, {0.0, 10.0}, "exponent where A <= 0");
    knobs.number("gamma_lambda_neg", lambda_neg, {0.0, 100.0}, "decay where A <= 0");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor w = ratio.detach(), log_w = w.log();
    const auto phi = [&](double k, double lambda) {
      return (k * log_w + lambda * (1.0 - w)).exp();
    };
    return {-at::where(micro_batch.advantage > 0, phi(k_pos, lambda_pos), phi(k_neg, lambda_neg)) *
                micro_batch.advantage * micro_batch.logprob,
            {}};
  }
};

}  // namespace rollcall::objective
