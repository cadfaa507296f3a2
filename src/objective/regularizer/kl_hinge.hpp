// Regularizer kl_hinge: the divergence from the sampling policy costs nothing up to a bound, and
// more and more beyond it.
//   loss += c (old - lp) P T_p / N,  c = beta max(D - delta, 0), frozen;  D = mean over the step's
//   N trained tokens of old - current (column
//   current_logprob);  P prompts, T_p tokens of the token's prompt: under aggregate prompt-mean
//   that is c times the mean of old - lp over all tokens
// Source: DisCO, arXiv:2505.12366 (beta 1000, delta 1e-4): the derivative of beta / 2 [KL(old ||
//   pi) - delta]_+^2.
// Shapes: [M] -> [M].   Knobs: hinge_beta, hinge_delta.
// What differs from kl: it is the forward divergence, whose estimate old - lp has the right
//   derivative on the sampler's tokens. c is computed from the whole step, so it does not depend on
//   the micro-batch. Only the derivative belongs to the hinge. The value that is reported is c
//   times the divergence. Log-ratios are within +-20.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>

namespace rollcall::objective {

struct KlHinge {
  static constexpr std::string_view
      name = "kl_hinge",
      formula =
          "hinge_beta max(D - hinge_delta, 0) (old - lp) P T_p / N, D the step's mean of old - current";
  double beta = 1e3, delta = 1e-4;

  void bind(Knobs& knobs) {
    knobs.loss_use.idle_on_policy();
    knobs.number("hinge_beta", beta, {0.0, 1e9}, "steepness beyond the bound");
    knobs.number("hinge_delta", delta, {0.0, 1e6}, "divergence that is free");
    knobs.needs.column(column::current_logprob);
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const Step& step = micro_batch.step;
    at::Tensor gone =
        (step.columns.old_logprob - step.named(column::current_logprob)).clamp(-20.0, 20.0);
    if (step.keep.defined()) gone = gone * step.keep;
    const double divergence = gone.sum().item<double>() / step.normalizer.tokens;
    const at::Tensor share = step.shape.group_sum(step.trained_length) *
                             (step.normalizer.prompts / step.normalizer.tokens);
    return beta * std::max(divergence - delta, 0.0) *
           micro_batch.take(step.shape.over_tokens(step.shape.over_rollouts(share))) *
           (micro_batch.old_logprob - micro_batch.logprob).clamp(-20.0, 20.0);
  }
};

}  // namespace rollcall::objective
