// Generalised advantage estimation over one sequence, shared by the pieces that have a critic.
#pragma once

#include "objective/columns.hpp"

#include <algorithm>

namespace rollcall::objective {

/// Computes A_k = delta_k + gamma lambda A_{k+1} with delta_k = r_k + gamma V_{k+1} - V_k, from the
/// last of n places to the first. V_n is `after`.
inline void gae_backwards(const double* reward, const double* value, std::int64_t n, double after,
                          double gamma, double lambda, double* out) {
  double sum = 0.0;
  for (std::int64_t k = n - 1; k >= 0; --k) {
    const double next = k + 1 < n ? value[k + 1] : after;
    sum = reward[k] + gamma * next - value[k] + gamma * lambda * sum;
    out[k] = sum;
  }
}

/// [N] rewards of single tokens: Step::token_reward, and the rollout's reward at its last token.
inline at::Tensor rewards_of_tokens(const Step& step) {
  at::Tensor reward = step.token_reward.defined() ? step.token_reward.clone()
                                                  : at::zeros({step.shape.tokens}, at::kDouble);
  const at::Tensor filled = (step.shape.length > 0).nonzero().squeeze(1);
  return reward.index_add_(0, step.columns.offsets.slice(0, 1).index_select(0, filled) - 1,
                           step.reward.index_select(0, filled));
}

/// [N] standardised over all tokens of the step: (x - mean) / (spread + 1e-8), where the spread
/// divides by N.
inline at::Tensor whitened(const at::Tensor& x) {
  const double count = double(std::max<std::int64_t>(x.numel(), 1));
  const at::Tensor centred = x - mean_of(x);
  return centred / ((centred.square().sum() / count).sqrt() + 1e-8);
}

}  // namespace rollcall::objective
